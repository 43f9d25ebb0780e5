// The spherical Hamming distance as its definition says: bit by bit, and compared by cross-multiplication.
#pragma once

#include <cstdint>
#include <span>

namespace bdnn::testing {

struct Fraction {
  std::uint64_t over = 0;
  std::uint64_t under = 1;

  bool operator<(const Fraction& other) const { return over * other.under < other.over * under; }
  bool operator==(const Fraction& other) const { return over * other.under == other.over * under; }
};

// An empty intersection counts as 1 / (bits + 1).
inline Fraction naive_spherical(std::uint64_t differing, std::uint64_t common, std::uint64_t bits) {
  return common == 0 ? Fraction{differing * (bits + 1), 1} : Fraction{differing, common};
}

inline Fraction naive_spherical(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, std::size_t bits) {
  std::uint64_t differing = 0;
  std::uint64_t common = 0;
  for (std::size_t i = 0; i < bits; ++i) {
    const bool in_a = (a[i / 8] >> i % 8 & 1) != 0;
    const bool in_b = (b[i / 8] >> i % 8 & 1) != 0;
    differing += in_a != in_b ? 1 : 0;
    common += in_a && in_b ? 1 : 0;
  }
  return naive_spherical(differing, common, bits);
}

}  // namespace bdnn::testing
