// Sizes that come from files: multiplied without overflow, and shown.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace bdnn {

// product *= factor; false if 64 bits cannot hold it, and the product is then meaningless.
[[nodiscard]] inline bool multiply_checked(std::uint64_t& product, std::uint64_t factor) {
  return !__builtin_mul_overflow(product, factor, &product);
}

// "60000 x 784". fmt::join would compile a formatter in every file that calls it.
inline std::string joined(std::span<const std::uint64_t> sizes, const char* between) {
  std::string text;
  for (const std::uint64_t size : sizes) text += (text.empty() ? "" : between) + std::to_string(size);
  return text;
}

}  // namespace bdnn
