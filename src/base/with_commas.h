// Numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace bdnn {

// 60000 -> "60,000"
inline std::string with_commas(std::uint64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace bdnn
