// The spherical Hamming distance (bdnn/spherical.h) as a whole number, computed from Hamming distances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bdnn/codes.h"

namespace bdnn {

// Orders pairs of codes as their spherical distances do, exactly. Two different fractions with denominators of at most
// 4,096 differ by 2^-24 or more, so in units of 2^-24 their whole parts differ too; equal fractions have the same whole
// part.
inline std::uint64_t spherical_order(std::size_t differing, std::size_t common, std::size_t bits) {
  constexpr unsigned kUnits = 24;
  static_assert(std::uint64_t{kMaxBits} * kMaxBits <= std::uint64_t{1} << kUnits);
  const std::uint64_t scaled = std::uint64_t{differing} << kUnits;
  return common == 0 ? scaled * (bits + 1) : scaled / common;
}

// The number of bits set in both codes, given that they have `a` and `b` bits set and differ in `differing`.
inline std::size_t common_bits(std::size_t a, std::size_t b, std::size_t differing) { return (a + b - differing) / 2; }

// The number of bits set, for `count` codes of `bytes` bytes each.
void count_bits(const std::uint8_t* codes, std::size_t bytes, std::size_t count, std::uint16_t* counts);
std::vector<std::uint16_t> count_bits(const Codes& codes);

}  // namespace bdnn
