// SHA-256 (FIPS 180-4), by which published files are recognised.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bdnn {

class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  std::string hexadecimal() const;  // of all that was added: 64 digits in lower case

 private:
  static constexpr std::size_t kBlock = 64;
  void add_block(const std::byte* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlock> rest_{};  // what does not fill a block yet
  std::uint64_t bytes_ = 0;
};

}  // namespace bdnn
