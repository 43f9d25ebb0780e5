// Sums of decision trees, for a few vectors at once.
//
// A descent node by node waits for each comparison before it knows the next. Here all nodes of a tree are compared, for
// as many vectors as a register holds, and the results select among the leaves: there is no branch, no gather and no
// waiting. A tree of depth 4 has 15 nodes, of which a descent would visit 4.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bdnn {

// Vectors that are processed together.
inline constexpr std::size_t kTreeLanes = 16;

// Trees of one depth, one after the other, as bdnn/model.h describes them.
struct TreeView {
  const std::uint32_t* features;
  const float* thresholds;
  const float* leaves;
  std::size_t trees;
  std::size_t depth;  // 1 to 8
};

// sums[i] = the sum of the trees' outputs for vector i, added in their order. x holds value d of vector i at
// x[d * kTreeLanes + i]; x and `sums` are aligned to 64 bytes.
void sum_trees(const TreeView& trees, const float* x, float* sums);

}  // namespace bdnn
