#include "model/tree_sums.h"

#include <algorithm>

#include "base/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/tree_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kTreeLanes>;
using Values = hn::Vec<Tag>;

// One tree, and the first of the vectors that fill a register.
struct Tree {
  const std::uint32_t* features;
  const float* thresholds;
  const float* leaves;
  const float* x;
};

HWY_INLINE hn::Mask<Tag> goes_right(const Tree& tree, std::size_t node) {
  const Tag d;
  return hn::Gt(hn::Load(d, tree.x + tree.features[node] * kTreeLanes), hn::Set(d, tree.thresholds[node]));
}

// The output of the subtree that starts at a node and has this many levels; its leaves are numbered from `leaf` on.
template <int kLevels>
HWY_INLINE Values subtree(const Tree& tree, std::size_t node, std::size_t leaf) {
  if constexpr (kLevels == 0) {
    return hn::Set(Tag(), tree.leaves[leaf]);
  } else {
    const Values left = subtree<kLevels - 1>(tree, 2 * node + 1, leaf);
    const Values right = subtree<kLevels - 1>(tree, 2 * node + 2, leaf + (std::size_t{1} << (kLevels - 1)));
    return hn::IfThenElse(goes_right(tree, node), right, left);
  }
}

// The trees of a depth whose last levels are unrolled: all of a tree up to depth 4.
template <int kLevels>
void sum_by_levels(const TreeView& trees, const float* x, float* sums) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t nodes = (std::size_t{1} << trees.depth) - 1;
  const std::size_t subtrees = std::size_t{1} << (trees.depth - kLevels);
  for (std::size_t first = 0; first < kTreeLanes; first += lanes) {
    Values sum = hn::Zero(d);
    Tree tree{trees.features, trees.thresholds, trees.leaves, x + first};
    for (std::size_t t = 0; t < trees.trees; ++t) {
      if (subtrees == 1) {
        sum = hn::Add(sum, subtree<kLevels>(tree, 0, 0));
      } else {
        alignas(64) float values[16 * kTreeLanes];  // of the subtrees; depth 8 has 16 of them
        for (std::size_t s = 0; s < subtrees; ++s) {
          hn::Store(subtree<kLevels>(tree, subtrees - 1 + s, s << kLevels), d, values + s * kTreeLanes);
        }
        for (std::size_t width = subtrees / 2; width > 0; width /= 2) {
          for (std::size_t s = 0; s < width; ++s) {
            const Values left = hn::Load(d, values + 2 * s * kTreeLanes);
            const Values right = hn::Load(d, values + (2 * s + 1) * kTreeLanes);
            hn::Store(hn::IfThenElse(goes_right(tree, width - 1 + s), right, left), d, values + s * kTreeLanes);
          }
        }
        sum = hn::Add(sum, hn::Load(d, values));
      }
      tree.features += nodes;
      tree.thresholds += nodes;
      tree.leaves += nodes + 1;
    }
    hn::Store(sum, d, sums + first);
  }
}

void sum(const TreeView& trees, const float* x, float* sums) {
  switch (trees.depth) {
    case 1: return sum_by_levels<1>(trees, x, sums);
    case 2: return sum_by_levels<2>(trees, x, sums);
    case 3: return sum_by_levels<3>(trees, x, sums);
    default: return sum_by_levels<4>(trees, x, sums);
  }
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(sum);
}  // namespace

void sum_trees(const TreeView& trees, const float* x, float* sums) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(sum)(trees, x, sums);
}

}  // namespace bdnn
#endif  // HWY_ONCE
