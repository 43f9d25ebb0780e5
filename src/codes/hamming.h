// Hamming distances and sign bits: the kernels that turn on SIMD.
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

}  // namespace bdnn
