// How a decoder reads a code: its bits in groups, each group as one of 2^n values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bdnn/model.h"
#include "linalg/matrix.h"

namespace bdnn {

// Groups of 1, 4 or 8 bits, the last one of those that are left. A decoder may have a column for each value of each
// group (`columns`, group after group), or, what is the same, one for each product of bits of a group (`features`,
// one fewer per group: see Decoder in bdnn/model.h).
class CodeGroups {
 public:
  // Refined codes take memory by the square of the columns, 256 MB for so many, and their training about ten times
  // that.
  static constexpr std::size_t kMostColumns = 8192;

  static bool is_possible(std::size_t bits, std::size_t group) {
    return group == 1 ||
           ((group == 4 || group == 8) && bits <= kMostColumns && CodeGroups(bits, group).columns() <= kMostColumns);
  }

  CodeGroups(std::size_t bits, std::size_t group) : bits_(bits), group_(group) {}

  std::size_t bits() const { return bits_; }
  std::size_t group() const { return group_; }
  std::size_t count() const { return (bits_ + group_ - 1) / group_; }
  std::size_t values(std::size_t g) const { return std::size_t{1} << std::min(group_, bits_ - g * group_); }
  std::size_t first_column(std::size_t g) const { return g << group_; }
  std::size_t first_feature(std::size_t g) const { return first_column(g) - g; }
  std::size_t columns() const { return first_column(count() - 1) + values(count() - 1); }
  std::size_t features() const { return columns() - count(); }

  std::size_t value(const std::uint8_t* code, std::size_t g) const {
    return code[g * group_ / 8] >> (g * group_ % 8) & (values(g) - 1);  // and not what a file has beyond the last bit
  }
  void set(std::uint8_t* code, std::size_t g, std::size_t value) const {
    const std::size_t shift = g * group_ % 8;
    const std::size_t rest = code[g * group_ / 8] & ~(((std::size_t{1} << group_) - 1) << shift);
    code[g * group_ / 8] = static_cast<std::uint8_t>(rest | value << shift);
  }

 private:
  std::size_t bits_;
  std::size_t group_;
};

// The way of both transforms below: change(clear, set) for each two entries, of 2^n = `size` that are `stride` apart,
// whose numbers differ in one bit; bit after bit.
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
void add_bit_sums(const CodeGroups& groups, const float* p, std::size_t count, float* q);

// The column of each value of each group (D x columns), from a decoder's weights (D x features).
MatrixXf columns_of_values(const MatrixXf& weight, const CodeGroups& groups);

}  // namespace bdnn
