// The best splits of the nodes of a decision tree, by histograms.
//
// A split of weighted samples with targets -1 and +1 leaves, once both sides have their best leaf, an exponential loss
// of
//
//     2 ( sqrt(W+ W-) on the left + sqrt(W+ W-) on the right ),   W+ and W- the weights of either target.
//
// A histogram of W+ and W- over the bins of a feature gives that for all its thresholds. Weights are whole numbers:
// their sums are exact, in any order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "learn/binned_features.h"

namespace bdnn {

// The weight of a sample as both W+ and W-, one of which is 0. All weights together must be below 2^31.
inline std::uint64_t packed_weight(std::uint32_t weight, bool positive) {
  return positive ? static_cast<std::uint64_t>(weight) << 32 : weight;
}
// sqrt(W+ W-)
float split_loss(std::uint64_t packed);

// Samples in the order of their nodes: those of node n are at starts[n] to starts[n + 1].
struct NodeSamples {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint64_t> weights;  // packed
  std::vector<std::size_t> starts;

  std::size_t nodes() const { return starts.size() - 1; }
};

struct Split {
  float loss = 0;  // sqrt(W+ W-) of both sides
  std::uint32_t feature = 0;
  std::uint8_t bin = 0;  // the right side has the bins above
  bool found = false;    // some split lowers the loss
};

// The best split of each node among all thresholds of these features; ties go to the first. O(samples) for
// each feature, and features are spread over threads.
std::vector<Split> best_splits(const BinnedFeatures& x, const NodeSamples& samples,
                               std::span<const std::uint32_t> features, Threads& threads);

}  // namespace bdnn
