// Encoding 60,000 x 784 floats to codes beside the bare product that it needs, on one thread; and on two. For each SIMD
// target that is named or that the machine has.
//
//     build/bench/bench/encode_bench [--target AVX2]... [BITS]
#include <fmt/format.h>

#include <random>

#include "base/threads.h"
#include "bdnn/bdnn.h"
#include "linalg/product.h"
#include "targets.h"
#include "timing.h"

int main(int argc, char** argv) {
  const auto arguments = bdnn::bench::arguments_of(argc, argv, bdnn::simd_targets());
  const std::size_t bits = std::stoul(arguments(0, "32"));
  constexpr std::size_t kSamples = 60000;
  constexpr std::size_t kDimension = 784;
  constexpr std::size_t kSingles = 1000;
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(kSamples * kDimension);
  for (auto& value : values) value = normal(engine);
  const auto x = bdnn::Vectors::view(values.data(), kDimension, kSamples);
  const bdnn::Model model = bdnn::train(x, {.method = "lsh", .bits = bits});
  const auto& layer = std::get<bdnn::Network>(model.function).layers.front();
  std::vector<float> h(bits * kSamples);
  std::vector<std::uint8_t> code((bits + 7) / 8);
  fmt::print("{}\n", bdnn::bench::machine());
  fmt::print("{} x {} floats to {} bits\n", kSamples, kDimension, bits);
  for (const std::string& target : arguments.targets) {
    bdnn::force_simd_target(target);
    const auto weight =
        bdnn::PackedMatrix<float>::from_rows(layer.weight.data(), layer.outputs, layer.inputs, layer.inputs);
    bdnn::Encoder encoder(model, {.threads = 1});
    const int rounds = target == "SCALAR" ? 3 : 15;
    const auto one = [&] { bdnn::encode(model, x, 1); };
    const auto singly = [&] {
      for (std::size_t i = 0; i < kSingles; ++i) encoder.encode(values.data() + i * kDimension, code.data());
    };
    // CPU time of one thread, which other programs lengthen little; two need a machine to themselves.
    const auto times = bdnn::bench::best_times(
        rounds, {[&] { bdnn::multiply(weight, values.data(), kSamples, kDimension, h.data(), bits); }, one, singly},
        bdnn::bench::cpu_now);
    const auto threads = bdnn::bench::best_times(rounds, {one, [&] { bdnn::encode(model, x, 2); }});
    fmt::print("{}: bare product {:.1f} ms, encode {:.1f} ms, {:.2f} times as long\n", target, 1e3 * times[0],
               1e3 * times[1], times[1] / times[0]);
    fmt::print("  one vector at a time {:.2f} us each, {:.1f} times as long as in a batch\n", 1e6 * times[2] / kSingles,
               times[2] / kSingles / (times[1] / kSamples));
    fmt::print("  two threads {:.1f} ms, {:.2f} times as fast as one\n", 1e3 * threads[1], threads[0] / threads[1]);
  }
}
