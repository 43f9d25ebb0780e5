// Hamming distances, and bits from and to the numbers -1 and +1.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bdnn {

// distances[i] = Hamming distance of `query` and code i, for `count` codes of `bytes` bytes each.
void hamming_distances(const std::uint8_t* query, const std::uint8_t* codes, std::size_t bytes, std::size_t count,
                       std::uint16_t* distances);

// Packs one code per column of h (bits x count, column-major): bit i is set where h(i, j) >= 0. Returns false if
// any h is infinite or not a number.
bool pack_signs(const float* h, std::size_t bits, std::size_t count, std::uint8_t* codes);

// The sign of an output as a number: +1 for h >= 0, as in pack_signs(), else -1.
template <class T>
constexpr T sign_of(T h) {
  return h >= 0 ? T{1} : T{-1};
}

// The number of a bit: +1 where it is set, else -1.
constexpr float sign_of_bit(bool set) { return set ? 1.0F : -1.0F; }

// Contiguous codes as numbers, bits x count: +1 where a bit is set, else -1.
void unpack_signs(const std::uint8_t* codes, std::size_t bits, std::size_t count, float* b);
void unpack_signs(const std::uint8_t* codes, std::size_t bits, std::size_t count, double* b);

}  // namespace bdnn
