// The C++ calls that bench/python_bench.py times Python against, for its ctypes: in the same process, on the same
// arrays.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "bdnn/bdnn.h"

namespace {

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

void encode_floats(const float* x, std::size_t dimension, std::size_t count) {
  encoder->encode(bdnn::Vectors::view(x, dimension, count));
}

void encode_bytes(const std::uint8_t* x, std::size_t dimension, std::size_t count) {
  encoder->encode(bdnn::Vectors::view(x, dimension, count));
}

void prepare_search(const std::uint8_t* codes, std::size_t bits, std::size_t count, int threads) {
  const bdnn::Codes view(bits, count, std::shared_ptr<const std::uint8_t>(codes, [](const std::uint8_t*) {}));
  built.emplace(bdnn::Index::build(view, {}, {.threads = threads}));
  searcher.emplace(threads);
}

void search_codes(const std::uint8_t* codes, std::size_t bits, std::size_t count, std::size_t k) {
  const bdnn::Codes view(bits, count, std::shared_ptr<const std::uint8_t>(codes, [](const std::uint8_t*) {}));
  searcher->search(*built, view, {.k = k}, results);
}
}
