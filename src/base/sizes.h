// Sizes that come from files, multiplied without overflow.
#pragma once

#include <cstdint>

namespace bdnn {

// product *= factor; false if 64 bits cannot hold it, and the product is then worth nothing.
[[nodiscard]] inline bool multiply_checked(std::uint64_t& product, std::uint64_t factor) {
  return !__builtin_mul_overflow(product, factor, &product);
}

}  // namespace bdnn
