// The bits of a code in groups, each group as one of 2^n values: how a decoder reads codes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bdnn {

// Groups of 1, 4 or 8 bits; the last group has the remaining bits. A decoder may have a column for each value of each
// group (`columns`, group after group) or, equivalently, one for each product of bits of a group (`features`, one fewer
// per group: see Decoder in bdnn/model.h).
class BitGroups {
 public:
  // The memory for refined codes grows with the square of the columns: 256 MB for this many, and about ten times that
  // in training.
  static constexpr std::size_t kMostColumns = 8192;

  static bool is_possible(std::size_t bits, std::size_t group) {
    return group == 1 ||
           ((group == 4 || group == 8) && bits <= kMostColumns && BitGroups(bits, group).columns() <= kMostColumns);
  }

  BitGroups(std::size_t bits, std::size_t group) : bits_(bits), group_(group) {}

  std::size_t bits() const { return bits_; }
  std::size_t group() const { return group_; }
  std::size_t count() const { return (bits_ + group_ - 1) / group_; }
  std::size_t values(std::size_t g) const { return std::size_t{1} << std::min(group_, bits_ - g * group_); }
  std::size_t first_column(std::size_t g) const { return g << group_; }
  std::size_t first_feature(std::size_t g) const { return first_column(g) - g; }
  std::size_t columns() const { return first_column(count() - 1) + values(count() - 1); }
  std::size_t features() const { return columns() - count(); }

  std::size_t value(const std::uint8_t* code, std::size_t g) const {
    return code[g * group_ / 8] >> (g * group_ % 8) & (values(g) - 1);  // without padding beyond the last bit
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

}  // namespace bdnn
