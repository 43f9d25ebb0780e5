// Encoding with boosted trees, which compares all nodes of a tree for several vectors at once, beside a descent node by
// node for one vector after the other; on one thread, in CPU time.
//
//     build/bench/bench/trees_bench [BITS [TREES [DEPTH]]]
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>

#include "bdnn/bdnn.h"
#include "timing.h"

namespace {

float descend(const bdnn::BoostedTrees& function, std::size_t tree, const float* x) {
  const std::uint32_t* features = function.features.data() + tree * function.nodes();
  const float* thresholds = function.thresholds.data() + tree * function.nodes();
  std::size_t node = 0;
  while (node < function.nodes()) node = x[features[node]] > thresholds[node] ? 2 * node + 2 : 2 * node + 1;
  return function.leaves[tree * (function.nodes() + 1) + node - function.nodes()];
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t kSamples = 1000;
  constexpr std::size_t kDimension = 784;
  bdnn::BoostedTrees function;
  function.dimension = kDimension;
  function.bits = argc > 1 ? std::stoul(argv[1]) : 32;
  function.trees = argc > 2 ? std::stoul(argv[2]) : 200;
  function.depth = argc > 3 ? std::stoul(argv[3]) : 4;
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  const std::size_t all = function.bits * function.trees;
  for (std::size_t i = 0; i < all * function.nodes(); ++i) {
    function.features.push_back(static_cast<std::uint32_t>(engine() % kDimension));
    function.thresholds.push_back(normal(engine));
  }
  for (std::size_t i = 0; i < all * (function.nodes() + 1); ++i) function.leaves.push_back(normal(engine));
  std::vector<float> values(kSamples * kDimension);
  for (auto& value : values) value = normal(engine);
  const auto x = bdnn::Vectors::view(values.data(), kDimension, kSamples);
  bdnn::Model model;
  model.function = function;
  bdnn::Encoder encoder(model, {.threads = 1});
  std::vector<std::uint8_t> codes(kSamples * bdnn::bytes_for_bits(function.bits));
  std::vector<std::uint8_t> naive(codes.size());

  const auto node_by_node = [&] {
    std::fill(naive.begin(), naive.end(), 0);
    for (std::size_t i = 0; i < kSamples; ++i) {
      std::uint8_t* code = naive.data() + i * bdnn::bytes_for_bits(function.bits);
      for (std::size_t bit = 0; bit < function.bits; ++bit) {
        float sum = 0;
        for (std::size_t t = 0; t < function.trees; ++t) {
          sum += descend(function, bit * function.trees + t, values.data() + i * kDimension);
        }
        if (sum >= 0) code[bit / 8] = static_cast<std::uint8_t>(code[bit / 8] | 1U << bit % 8);
      }
    }
  };
  const auto times =
      bdnn::bench::best_times(5, {[&] { encoder.encode(x, codes.data()); }, node_by_node}, bdnn::bench::cpu_now);
  fmt::print("{}\n", bdnn::bench::machine());
  fmt::print("{} x {} floats to {} bits, each of {} trees of depth {}; codes are {}\n", kSamples, kDimension,
             function.bits, function.trees, function.depth, codes == naive ? "the same" : "NOT THE SAME");
  fmt::print("node by node     {:9.0f} vectors/s\n", kSamples / times[1]);
  fmt::print("all nodes, ours  {:9.0f} vectors/s, {:.1f} times as many\n", kSamples / times[0], times[1] / times[0]);
}
