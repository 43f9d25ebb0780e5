// Encoding 60,000 x 784 floats to codes beside the bare product that it needs, on one thread; and on two.
//
//     build/bench/bench/encode_bench [BITS]
#include <fmt/format.h>

#include <random>

#include "base/threads.h"
#include "bdnn/bdnn.h"
#include "linalg/product.h"
#include "timing.h"

int main(int argc, char** argv) {
  const std::size_t bits = argc > 1 ? std::stoul(argv[1]) : 32;
  constexpr std::size_t kSamples = 60000;
  constexpr std::size_t kDimension = 784;
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(kSamples * kDimension);
  for (auto& value : values) value = normal(engine);
  const auto x = bdnn::Vectors::view(values.data(), kDimension, kSamples);
  const bdnn::Model model = bdnn::train(x, {.method = "lsh", .bits = bits});
  const auto& layer = std::get<bdnn::Network>(model.function).layers.front();
  const auto weight =
      bdnn::PackedMatrix<float>::from_rows(layer.weight.data(), layer.outputs, layer.inputs, layer.inputs);
  std::vector<float> h(bits * kSamples);

  const auto times =
      bdnn::bench::best_times(15, {[&] { bdnn::multiply(weight, values.data(), kSamples, kDimension, h.data(), bits); },
                                   [&] { bdnn::encode(model, x, 1); }, [&] { bdnn::encode(model, x, 2); }});
  fmt::print("{}\n", bdnn::bench::machine());
  fmt::print("{} x {} floats to {} bits\n", kSamples, kDimension, bits);
  fmt::print("bare product, one thread  {:7.1f} ms\n", 1e3 * times[0]);
  fmt::print("encode, one thread        {:7.1f} ms  {:.2f} times the bare product\n", 1e3 * times[1],
             times[1] / times[0]);
  fmt::print("encode, two threads       {:7.1f} ms  {:.2f} times as fast as one\n", 1e3 * times[2],
             times[1] / times[2]);
}
