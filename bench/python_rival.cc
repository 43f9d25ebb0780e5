// The C++ calls that bench/python_bench.py times Python against, for its ctypes: in the same process, on the same arrays.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "bdnn/bdnn.h"

namespace {

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::optional<bdnn::Encoder> encoder;
std::optional<bdnn::Index> built;
std::optional<bdnn::Searcher> searcher;
bdnn::Results results;

}  // namespace

extern "C" {

// Prepared once, as the estimators are.
void prepare_encoder(const char* model, int threads) {
  encoder.emplace(bdnn::load_model(model), bdnn::EncodeOptions{.threads = threads});
}

double encode_floats(const float* x, std::size_t dimension, std::size_t count) {
  return seconds_of([&] { encoder->encode(bdnn::Vectors::view(x, dimension, count)); });
}

double encode_bytes(const std::uint8_t* x, std::size_t dimension, std::size_t count) {
  return seconds_of([&] { encoder->encode(bdnn::Vectors::view(x, dimension, count)); });
}

void prepare_search(const std::uint8_t* codes, std::size_t bits, std::size_t count, int threads) {
  const bdnn::Codes view(bits, count, std::shared_ptr<const std::uint8_t>(codes, [](const std::uint8_t*) {}));
  built.emplace(bdnn::Index::build(view, {}, {.threads = threads}));
  searcher.emplace(threads);
}

double search_codes(const std::uint8_t* codes, std::size_t bits, std::size_t count, std::size_t k) {
  const bdnn::Codes view(bits, count, std::shared_ptr<const std::uint8_t>(codes, [](const std::uint8_t*) {}));
  return seconds_of([&] { searcher->search(*built, view, {.k = k}, results); });
}
}
