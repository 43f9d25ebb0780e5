// Queries as the plans take them.
#pragma once

#include <cstring>
#include <vector>

#include "bdnn/codes.h"

namespace bdnn {

// Packed codes, each padded with zeros to whole words of 8 bytes and one more: lanes of any width can be read, and a
// word from any byte.
class PreparedQueries {
 public:
  void assign(const Codes& codes, std::size_t first, std::size_t count) {
    const std::size_t bytes = codes.bytes_per_code();
    stride_ = (bytes + 7) / 8 * 8 + 8;
    count_ = count;
    words_.assign(stride_ * count, 0);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(&words_[i * stride_], codes[first + i].data(), bytes);
  }

  std::size_t size() const { return count_; }
  const std::uint8_t* operator[](std::size_t i) const { return words_.data() + i * stride_; }

 private:
  std::size_t stride_ = 0;
  std::size_t count_ = 0;
  std::vector<std::uint8_t> words_;
};

// Bits [first, first + bits) of a code, bits <= 32; eight bytes from the first one's byte on can be read.
inline std::uint32_t substring(const std::uint8_t* code, std::size_t first, std::size_t bits) {
  std::uint64_t word;
  std::memcpy(&word, code + first / 8, sizeof word);
  return static_cast<std::uint32_t>((word >> first % 8) & ((std::uint64_t{1} << bits) - 1));
}

}  // namespace bdnn
