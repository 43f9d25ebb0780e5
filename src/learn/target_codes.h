// B, the binary codes that a network is trained towards: one column of {-1, +1} per sample, kept as bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bdnn/codes.h"
#include "codes/hamming.h"

namespace bdnn {

class TargetCodes {
 public:
  TargetCodes() = default;
  TargetCodes(std::size_t bits, std::size_t samples)
      : bits_(bits), stride_(bytes_for_bits(bits)), bytes_(samples * stride_) {}

  std::size_t bits() const { return bits_; }
  std::size_t stride() const { return stride_; }
  std::size_t size() const { return stride_ == 0 ? 0 : bytes_.size() / stride_; }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  std::vector<std::uint8_t>& bytes() { return bytes_; }

  // Column `sample` of B, as numbers.
  template <class T>
  void unpack(std::size_t sample, T* b) const {
    unpack_signs(bytes_.data() + sample * stride_, bits_, 1, b);
  }

  // Sets the columns from `first` on to the signs of v (bits x count).
  void pack(std::size_t first, std::size_t count, const float* v) {
    pack_signs(v, bits_, count, bytes_.data() + first * stride_);
  }

 private:
  std::size_t bits_ = 0;
  std::size_t stride_ = 0;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace bdnn
