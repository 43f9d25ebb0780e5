#include "codes/spherical.h"

#include "bdnn/spherical.h"
#include "codes/hamming.h"

namespace bdnn {

double spherical_distance(std::size_t differing, std::size_t common, std::size_t bits) {
  const auto numerator = static_cast<double>(differing);
  return common == 0 ? numerator * static_cast<double>(bits + 1) : numerator / static_cast<double>(common);
}

void count_bits(const std::uint8_t* codes, std::size_t bytes, std::size_t count, std::uint16_t* counts) {
  static constexpr std::uint8_t kNone[bytes_for_bits(kMaxBits)] = {};
  hamming_distances(kNone, codes, bytes, count, counts);
}

std::vector<std::uint16_t> count_bits(const Codes& codes) {
  std::vector<std::uint16_t> counts(codes.size());
  count_bits(codes.data(), codes.bytes_per_code(), codes.size(), counts.data());
  return counts;
}

}  // namespace bdnn
