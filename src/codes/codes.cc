#include "bdnn/codes.h"

#include "base/error.h"
#include "base/sizes.h"
#include "codes/hamming.h"

namespace bdnn {
namespace {

void check_length(std::size_t bits) {
  if (bits < 1 || bits > kMaxBits) misuse("codes of {} bits are not possible; they have 1 to {}", bits, kMaxBits);
}

// Bits beyond the length would count in every distance, and overflow counters per distance.
void check_unused_bits(const Codes& codes) {
  const std::size_t used = codes.bits() % 8;
  if (used == 0) return;
  const auto unused = static_cast<std::uint8_t>(0xff << used);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if ((codes[i].back() & unused) != 0) failure("code {} has bits set beyond its length of {}", i, codes.bits());
  }
}

}  // namespace

Codes::Codes(std::size_t bits, std::size_t count, std::vector<std::uint8_t> bytes, CodesOrigin origin)
    : bits_(bits), count_(count), origin_(std::move(origin)) {
  check_length(bits);
  std::uint64_t expected = count;
  if (!multiply_checked(expected, bytes_per_code()) || bytes.size() != expected) {
    misuse("{} bytes were given for {} codes of {} bits; give {} for each", bytes.size(), count, bits,
           bytes_per_code());
  }
  auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
  data_ = {owner, owner->data()};
  check_unused_bits(*this);
}

Codes::Codes(std::size_t bits, std::size_t count, std::shared_ptr<const std::uint8_t> bytes, CodesOrigin origin)
    : bits_(bits), count_(count), data_(std::move(bytes)), origin_(std::move(origin)) {
  check_length(bits);
  std::uint64_t size = count;
  if (!multiply_checked(size, bytes_per_code()))
    misuse("{} codes of {} bits are more than memory can hold", count, bits);
  if (count > 0 && data_ == nullptr) misuse("{} codes were given without their bytes", count);
  check_unused_bits(*this);
}

Codes Codes::slice(std::size_t first, std::size_t count) const {
  if (first > count_ || count > count_ - first) {
    misuse("{} codes starting at number {} were requested, but there are only {}", count, first, count_);
  }
  Codes part = *this;
  part.data_ = {data_, data_.get() + first * bytes_per_code()};
  part.count_ = count;
  return part;
}

std::size_t hamming_distance(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  if (a.size() != b.size()) misuse("codes of {} and {} bytes cannot be compared", a.size(), b.size());
  if (8 * a.size() > kMaxBits) misuse("codes of {} bytes were given; the most is {}", a.size(), kMaxBits / 8);
  std::uint16_t distance = 0;
  hamming_distances(a.data(), b.data(), a.size(), 1, &distance);
  return distance;
}

}  // namespace bdnn
