// Codes for the benchmarks of search: random, clustered, or learned ones from files.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "bdnn/codes.h"

namespace bdnn::bench {

inline Codes random_codes(std::size_t bits, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> bytes((bits + 7) / 8 * count);
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = random.bits();
    std::memcpy(&bytes[i], &word, std::min<std::size_t>(8, bytes.size() - i));
  }
  return {bits, count, std::move(bytes)};
}

// The first `count` codes, or all.
inline Codes first_codes(const Codes& codes, std::size_t count) {
  const std::size_t n = std::min(count, codes.size());
  std::vector<std::uint8_t> bytes(codes.data(), codes.data() + n * codes.bytes_per_code());
  return {codes.bits(), n, std::move(bytes)};
}

// `count` codes around random centres, which the seed of the centres decides: each bit differs from its centre's with
// probability `flip`. Codes drawn with another seed around the same centres are queries that were never seen.
inline Codes clustered_codes(std::size_t bits, std::size_t count, std::size_t centres, double flip,
                             std::uint64_t centre_seed, std::uint64_t seed) {
  const Codes middle = random_codes(bits, centres, centre_seed);
  Random random(seed);
  const std::size_t bytes = bits / 8;
  std::vector<std::uint8_t> codes(bytes * count);
  const auto threshold = static_cast<std::uint64_t>(flip * 65536);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint8_t* code = &codes[i * bytes];
    std::memcpy(code, middle[random.below(centres)].data(), bytes);
    for (std::size_t b = 0; b < bits; b += 4) {
      const std::uint64_t draws = random.bits();
      for (std::size_t j = 0; j < 4 && b + j < bits; ++j) {
        if (((draws >> 16 * j) & 0xffff) < threshold) code[(b + j) / 8] ^= static_cast<std::uint8_t>(1U << (b + j) % 8);
      }
    }
  }
  return {bits, count, std::move(codes)};
}

}  // namespace bdnn::bench
