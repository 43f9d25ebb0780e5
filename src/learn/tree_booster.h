// Boosted decision trees for one bit after the other (AdaBoost with real-valued trees, Schapire and Singer, 1999).
//
//     min over trees of  1/m sum over i of exp(-b_i F(x_i)),   F = the sum of the trees,   b_i in {-1,+1}
//
// Tree after tree: sample i weighs w_i = exp(-b_i F(x_i)); a tree is grown level by level, each node taking the split
// that leaves the least loss; a leaf's value is 1/2 ln(W+ / W-) of all samples in it, the best possible, so no
// tree raises the loss. Two things make it fast: splits are sought among random features (LazyBoost), and on the
// samples that carry most of the weight (weight trimming).
#pragma once

#include <span>
#include <vector>

#include "base/random.h"
#include "bdnn/model.h"
#include "learn/binned_features.h"
#include "learn/split_search.h"

namespace bdnn {

struct BoostingOptions {
  std::size_t trees = 200;
  std::size_t depth = 4;
  std::size_t features = 200;  // random features that each tree may use; all, if there are fewer
  double trim = 0.99;          // share of the weight that samples must carry together to choose splits
};

class TreeBooster {
 public:
  // Both must outlive this. Memory: some 40 bytes per sample.
  TreeBooster(const BinnedFeatures& x, const BoostingOptions& options, Threads& threads);

  // Appends the trees of the next bit to `function`. `bits` holds -1 and +1; `outputs` receives
  // F for all samples, as the encoder computes it. `losses` receives the loss after each tree.
  void fit(std::span<const float> bits, Random& random, BoostedTrees& function, std::vector<float>& outputs,
           std::vector<double>* losses = nullptr);

 private:
  struct Tree;

  void choose_samples(std::span<const float> bits);
  Tree grow(Random& random);
  void split_samples(const std::vector<Split>& splits);
  double add(const Tree& tree, std::span<const float> bits, std::vector<float>& outputs, BoostedTrees& function);

  const BinnedFeatures& x_;
  BoostingOptions options_;
  Threads& threads_;
  std::vector<double> weights_;  // w, with a mean of 1
  std::vector<std::uint8_t> leaf_;
  std::vector<double> weight_of_size_;  // of samples by the size of their weight
  NodeSamples samples_;                 // that choose splits
  NodeSamples next_;
};

}  // namespace bdnn
