// Big-endian files on a little-endian machine.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bdnn {

static_assert(std::endian::native == std::endian::little, "bdnn's files are little-endian, and so must the machine be");

// Reverses the bytes of n elements of `size` bytes, in place.
inline void swap_bytes(std::size_t size, std::size_t n, std::byte* data) {
  if (size == 1) return;
  for (std::size_t i = 0; i < n; ++i, data += size) std::reverse(data, data + size);
}

}  // namespace bdnn
