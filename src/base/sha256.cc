#include "base/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace bdnn {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian_32(const std::byte* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

}  // namespace

void Sha256::add_block(const std::byte* block) {
  std::uint32_t w[64];
  for (int t = 0; t < 16; ++t) w[t] = big_endian_32(block + 4 * t);
  for (int t = 16; t < 64; ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int t = 0; t < 64; ++t) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRounds[t] + w[t];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> now = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += now[i];
}

void Sha256::add(std::span<const std::byte> bytes) {
  std::size_t filled = bytes_ % kBlock;
  bytes_ += bytes.size();
  if (filled > 0) {
    const std::size_t n = std::min(bytes.size(), kBlock - filled);
    std::copy_n(bytes.data(), n, rest_.data() + filled);
    bytes = bytes.subspan(n);
    if (filled + n < kBlock) return;
    add_block(rest_.data());
  }
  for (; bytes.size() >= kBlock; bytes = bytes.subspan(kBlock)) add_block(bytes.data());
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
}

std::string Sha256::hexadecimal() const {
  Sha256 end = *this;
  // A one bit, zeros, and the length in bits as the last 64 of a block.
  std::array<std::byte, 2 * kBlock> padding{std::byte{0x80}};
  const std::size_t filled = bytes_ % kBlock;
  const std::size_t zeros_end = (filled < kBlock - 8 ? kBlock : 2 * kBlock) - filled;
  for (std::size_t i = 0; i < 8; ++i) padding[zeros_end - 1 - i] = static_cast<std::byte>(bytes_ * 8 >> 8 * i);
  end.add(std::span(padding).first(zeros_end));
  std::string text;
  for (const std::uint32_t word : end.state_) text += fmt::format("{:08x}", word);
  return text;
}

}  // namespace bdnn
