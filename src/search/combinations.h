// Which bits of a substring to flip.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace bdnn {

// All numbers of `bits` bits with a given number of ones, ascending (Gosper's step).
class Combinations {
 public:
  Combinations(std::size_t bits, std::size_t ones)
      : end_(std::uint64_t{1} << bits), at_((std::uint64_t{1} << ones) - 1) {}

  // The next few, at most `most`; returns how many.
  std::size_t take(std::uint32_t* out, std::size_t most) {
    std::size_t count = 0;
    while (count < most && at_ < end_ && !done_) {
      out[count++] = static_cast<std::uint32_t>(at_);
      if (at_ == 0) {
        done_ = true;
        break;
      }
      const std::uint64_t lowest = at_ & (0 - at_);
      const std::uint64_t carried = at_ + lowest;
      at_ = carried | ((at_ ^ carried) >> (2 + std::countr_zero(lowest)));
    }
    return count;
  }

 private:
  std::uint64_t end_;
  std::uint64_t at_;
  bool done_ = false;
};

// n over r, as a real number.
inline double binomial(std::size_t n, std::size_t r) {
  double value = 1;
  for (std::size_t i = 0; i < r; ++i) value *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  return value;
}

}  // namespace bdnn
