// The functions of layers and kernels on one thread, for each SIMD target that is named or that the machine has: how
// many billions of entries per second, for columns of as many rows as layers usually have. Beside them adding the bias
// alone, which is what the caches need, with AVX2 a bare sigmoid without columns, and Eigen built for this machine.
//
//     build/bench/bench/activation_bench [--target AVX2]...
#include <fmt/format.h>

#include "bare_loops.h"
#include "base/blocks.h"
#include "base/random.h"
#include "eigen_native.h"
#include "linalg/activation.h"
#include "targets.h"
#include "timing.h"

namespace {

constexpr std::size_t kEntries = std::size_t{1} << 15;  // they stay in the second-level cache, as a tile's do
constexpr int kCalls = 100;

void compare(std::size_t rows, bool with_eigen) {
  const std::size_t count = kEntries / rows;
  bdnn::Random random(1);
  std::vector<float> start(rows * count);
  for (float& value : start) value = static_cast<float>(3 * random.normal());
  std::vector<float> h(start.size());
  const std::vector<float> bias(rows, 0.25F);
  const std::vector<float> norms(std::max(rows, count), 1000.0F);
  // What a function has made is what it gets next, which settles, except for the cosine and what needs norms.
  const auto often = [&](const std::function<void()>& call) {
    return [&h, &start, call] {
      h = start;
      for (int i = 0; i < kCalls; ++i) call();
    };
  };
  bdnn::bench::Rivals rivals = {
      often([&] { bdnn::add_bias(bias.data(), rows, count, h.data()); }),
      often([&] { bdnn::add_bias_and_squash(bias.data(), rows, count, h.data()); }),
      often([&] { bdnn::add_bias_and_tanh(bias.data(), rows, count, h.data()); }),
      often([&] { bdnn::add_bias_and_cosine(bias.data(), rows, count, h.data()); }),
      often([&] { bdnn::products_to_gaussians(norms.data(), norms.data(), 1e-3F, rows, count, h.data()); }),
      often([&] { bdnn::through_sigmoid(start.data(), h.size(), h.data()); }),
  };
  if (bdnn::simd_target() == "AVX2") {
    rivals.push_back(often([&] { bdnn::bench::bare_sigmoids(0.25F, h.size(), h.data()); }));
  }
  if (with_eigen) {
    const auto r = static_cast<long>(rows);
    const auto c = static_cast<long>(count);
    rivals.push_back(often([&, r, c] { bdnn::bench::eigen_sigmoid(bias.data(), r, c, h.data()); }));
    rivals.push_back(often([&, r, c] { bdnn::bench::eigen_tanh(bias.data(), r, c, h.data()); }));
  }
  const auto times = bdnn::bench::best_times(15, rivals, bdnn::bench::cpu_now);
  fmt::print("{:4} rows", rows);
  for (const double time : times) fmt::print(" {:9.2f}", static_cast<double>(h.size()) * kCalls / time / 1e9);
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = bdnn::bench::arguments_of(argc, argv, bdnn::simd_targets());
  fmt::print("{}\nbillions of floats per second on one thread\n", bdnn::bench::machine());
  for (const std::string& target : arguments.targets) {
    bdnn::force_simd_target(target);
    const bool with_eigen = target == arguments.targets.front();
    fmt::print("\n{:9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}{}{}\n", target, "bias", "sigmoid", "tanh", "cosine",
               "Gaussian", "sigmoid'", target == "AVX2" ? fmt::format(" {:>9}", "bare sigm") : "",
               with_eigen ? fmt::format(" {:>9} {:>9}", "Eigen sig", "Eigen tanh") : "");
    for (const std::size_t rows : {8, 32, 50, 64, 90, 120, 1024}) compare(rows, with_eigen);
  }
}
