#include "learn/tree_booster.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/blocks.h"

namespace bdnn {
namespace {

// The weights of either target in the leaves of a tree.
struct LeafSums {
  std::vector<double> positive;
  std::vector<double> negative;

  LeafSums& operator+=(const LeafSums& other) {
    for (std::size_t leaf = 0; leaf < positive.size(); ++leaf) {
      positive[leaf] += other.positive[leaf];
      negative[leaf] += other.negative[leaf];
    }
    return *this;
  }
};

// Weights in classes of a hundredth of their size: the leading bits of a float.
constexpr int kSizeShift = 16;
std::size_t size_class(double weight) { return std::bit_cast<std::uint32_t>(static_cast<float>(weight)) >> kSizeShift; }

}  // namespace

// Nodes breadth first.
struct TreeBooster::Tree {
  std::vector<Split> nodes;
};

TreeBooster::TreeBooster(const BinnedFeatures& x, const BoostingOptions& options, Threads& threads)
    : x_(x),
      options_(options),
      threads_(threads),
      weights_(x.samples()),
      leaf_(x.samples()),
      weight_of_size_(std::size_t{1} << (32 - kSizeShift)) {}

void TreeBooster::fit(std::span<const float> bits, Random& random, BoostedTrees& function, std::vector<float>& outputs,
                      std::vector<double>* losses) {
  std::fill(weights_.begin(), weights_.end(), 1.0);
  outputs.assign(x_.samples(), 0.0F);
  double loss = 1;
  for (std::size_t tree = 0; tree < options_.trees; ++tree) {
    choose_samples(bits);
    loss *= add(grow(random), bits, outputs, function);
    if (losses != nullptr) losses->push_back(loss);
  }
}

void TreeBooster::choose_samples(std::span<const float> bits) {
  double total = 0;
  for (const double weight : weights_) total += weight;
  double least = 0;
  if (options_.trim < 1) {
    std::fill(weight_of_size_.begin(), weight_of_size_.end(), 0.0);
    for (const double weight : weights_) weight_of_size_[size_class(weight)] += weight;
    std::size_t size = weight_of_size_.size();
    double above = 0;
    while (size > 0 && above < options_.trim * total) above += weight_of_size_[--size];
    least = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(size) << kSizeShift));
    total = above;
  }
  const double scale = 0x1p30 / total;
  samples_.rows.clear();
  samples_.weights.clear();
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    // As size_class() rounds it.
    if (static_cast<double>(static_cast<float>(weights_[i])) < least) continue;
    samples_.rows.push_back(static_cast<std::uint32_t>(i));
    samples_.weights.push_back(packed_weight(static_cast<std::uint32_t>(weights_[i] * scale + 0.5), bits[i] > 0));
  }
  samples_.starts = {0, samples_.rows.size()};
}

TreeBooster::Tree TreeBooster::grow(Random& random) {
  std::vector<std::uint32_t> features = x_.varying();
  if (options_.features < features.size()) {
    std::vector<std::uint32_t> drawn = random_rows(features.size(), options_.features, random);
    std::sort(drawn.begin(), drawn.end());
    for (std::uint32_t& place : drawn) place = features[place];
    features = std::move(drawn);
  }
  Tree tree;
  for (std::size_t level = 0; level < options_.depth; ++level) {
    const std::vector<Split> splits = best_splits(x_, samples_, features, threads_);
    tree.nodes.insert(tree.nodes.end(), splits.begin(), splits.end());
    if (level + 1 < options_.depth) split_samples(splits);
  }
  return tree;
}

void TreeBooster::split_samples(const std::vector<Split>& splits) {
  next_.rows.resize(samples_.rows.size());
  next_.weights.resize(samples_.rows.size());
  next_.starts.assign(1, 0);
  for (std::size_t node = 0; node < splits.size(); ++node) {
    const std::size_t begin = samples_.starts[node];
    const std::size_t end = samples_.starts[node + 1];
    const std::uint8_t* bins = x_.bins(splits[node].feature);
    const auto goes_right = [&](std::size_t i) {
      return splits[node].found && bins[samples_.rows[i]] > splits[node].bin;
    };
    std::size_t middle = begin;
    for (std::size_t i = begin; i < end; ++i) middle += goes_right(i) ? 0 : 1;
    std::size_t place[2] = {begin, middle};
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t to = place[goes_right(i) ? 1 : 0]++;
      next_.rows[to] = samples_.rows[i];
      next_.weights[to] = samples_.weights[i];
    }
    next_.starts.push_back(middle);
    next_.starts.push_back(end);
  }
  std::swap(samples_, next_);
}

// Returns the factor by which the tree changes the loss.
double TreeBooster::add(const Tree& tree, std::span<const float> bits, std::vector<float>& outputs,
                        BoostedTrees& function) {
  const std::size_t leaves = tree.nodes.size() + 1;
  std::vector<const std::uint8_t*> bins;
  std::vector<int> last_left;  // bin; all of them, if there is no split
  for (const Split& split : tree.nodes) {
    bins.push_back(x_.bins(split.feature));
    last_left.push_back(split.found ? split.bin : std::numeric_limits<std::uint8_t>::max());
    function.features.push_back(split.found ? split.feature : 0);
    function.thresholds.push_back(split.found ? x_.thresholds(split.feature)[split.bin]
                                              : std::numeric_limits<float>::max());
  }
  const std::vector<double> none(leaves, 0.0);
  LeafSums sums{none, none};
  sum_over_samples(threads_, x_.samples(), sums, sums, [&](const Range& range, LeafSums& partial) {
    for (std::size_t i = range.first; i < range.first + range.count; ++i) {
      std::size_t node = 0;
      for (std::size_t level = 0; level < options_.depth; ++level) {
        node = 2 * node + 1 + (bins[node][i] > last_left[node] ? 1 : 0);
      }
      const std::size_t leaf = node - tree.nodes.size();
      leaf_[i] = static_cast<std::uint8_t>(leaf);
      (bits[i] > 0 ? partial.positive : partial.negative)[leaf] += weights_[i];
    }
  });
  // Half a sample's weight on either side keeps a leaf finite, and between 0 and the best value: still no loss is
  // raised.
  constexpr double kPrior = 0.5;
  std::vector<float> values;
  std::vector<double> factors;  // of the weights of a leaf's positive samples, then of its negative ones
  double loss = 0;
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    const double ratio = (sums.positive[leaf] + kPrior) / (sums.negative[leaf] + kPrior);
    values.push_back(static_cast<float>(0.5 * portable_log(ratio)));
    factors.insert(factors.end(), {std::sqrt(1 / ratio), std::sqrt(ratio)});
    loss += sums.positive[leaf] * factors[2 * leaf] + sums.negative[leaf] * factors[2 * leaf + 1];
  }
  loss /= static_cast<double>(x_.samples());
  for (double& factor : factors) factor /= loss;
  function.leaves.insert(function.leaves.end(), values.begin(), values.end());
  constexpr double kLeastWeight = 1e-30;  // avoids denormal numbers, which are slow
  threads_.for_each(blocks_of(x_.samples()), [&](std::size_t block, int) {
    const Range range = block_range(block, x_.samples());
    for (std::size_t i = range.first; i < range.first + range.count; ++i) {
      const std::size_t leaf = leaf_[i];
      outputs[i] += values[leaf];
      weights_[i] = std::max(weights_[i] * factors[2 * leaf + (bits[i] > 0 ? 0 : 1)], kLeastWeight);
    }
  });
  return loss;
}

}  // namespace bdnn
