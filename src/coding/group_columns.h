// Converts between a decoder's features and a column for each value of each group of bits.
#pragma once

#include <cstddef>

#include "codes/bit_groups.h"
#include "linalg/matrix.h"

namespace bdnn {

// Calls change(clear, set) for each pair of entries whose numbers differ in one bit, bit after bit. There are 2^n =
// `size` entries, `stride` apart. Both transforms below use it.
template <class T, class Change>
void change_pairs(T* f, std::size_t size, std::size_t stride, const Change& change) {
  for (std::size_t bit = 1; bit < size; bit *= 2) {
    for (std::size_t i = 0; i < size; ++i) {
      if ((i & bit) == 0) change(f[i * stride], f[(i | bit) * stride]);
    }
  }
}

// A Walsh transform: from f[s], a factor for each subset s of a group's bits, to the sums that the group's values v
// have, f[v] = sum over s of f[s] prod of b_k(v) for k in s.
template <class T>
void sums_of_values(T* f, std::size_t size, std::size_t stride = 1) {
  change_pairs(f, size, stride, [](T& clear, T& set) {
    const T sum = clear + set;
    clear -= set;
    set = sum;
  });
}

// The transpose of the same: from numbers that values v have to f[s] = sum over v of f[v] prod of b_k(v) for k in s.
template <class T>
void sums_of_subsets(T* f, std::size_t size, std::size_t stride = 1) {
  change_pairs(f, size, stride, [](T& clear, T& set) {
    const T sum = clear + set;
    set -= clear;
    clear = sum;
  });
}

// Adds p^T b for the bits b of each value of each group: p is bits x count, q columns x count.
void add_bit_sums(const BitGroups& groups, const float* p, std::size_t count, float* q);

// The column of each value of each group (D x columns), from a decoder's weights (D x features).
MatrixXf columns_of_values(const MatrixXf& weight, const BitGroups& groups);

}  // namespace bdnn
