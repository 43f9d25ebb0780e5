// Binary codes, and their files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bdnn {

inline constexpr std::size_t kMaxBits = 4096;

// The bytes that a code of so many bits takes.
constexpr std::size_t bytes_for_bits(std::size_t bits) { return (bits + 7) / 8; }

// What is known about where codes come from; empty where it is not.
struct CodesOrigin {
  std::string model;     // fingerprint(model) of what encoded them: codes of different models must not be compared
  std::string method;    // "itq"
  bool refined = false;  // chosen to be rebuilt from, not the signs of the hash function (EncodeOptions)
  int local_search = 0;  // of refined codes: with so many rounds
};

// Codes of 1 to 4,096 bits each, one after the other, 8 bits to a byte: bit i of a code is bit i % 8 (counted from the
// least significant) of its byte i / 8, as numpy.packbits(..., bitorder='little') gives and as Faiss's binary indexes
// take them. A bit is 1 where the hash function is >= 0. Unused bits of a last byte are 0.
// Copies are cheap: they share the bytes, which never change.
class Codes {
 public:
  Codes() = default;

  // Takes the bytes: bytes.size() is count * ceil(bits / 8).
  Codes(std::size_t bits, std::size_t count, std::vector<std::uint8_t> bytes, CodesOrigin origin = {});

  // Shares the bytes with their owner.
  Codes(std::size_t bits, std::size_t count, std::shared_ptr<const std::uint8_t> bytes, CodesOrigin origin = {});

  std::size_t bits() const { return bits_; }
  std::size_t size() const { return count_; }
  std::size_t bytes_per_code() const { return bytes_for_bits(bits_); }
  const std::uint8_t* data() const { return data_.get(); }
  const CodesOrigin& origin() const { return origin_; }

  // Codes [first, first + count), without a copy; what does not exist raises Error.
  Codes slice(std::size_t first, std::size_t count) const;

  std::span<const std::uint8_t> operator[](std::size_t i) const {
    return {data_.get() + i * bytes_per_code(), bytes_per_code()};
  }

 private:
  std::size_t bits_ = 0;
  std::size_t count_ = 0;
  std::shared_ptr<const std::uint8_t> data_;
  CodesOrigin origin_;
};

// The number of bits in which two codes of the same length differ.
std::size_t hamming_distance(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b);

// Reads codes from .codes (checksum verified), .npy (uint8, a code per row) or .bvecs. The last two do not keep the
// length in bits; `bits` gives it, and 0 means all bits of their bytes.
Codes load_codes(const std::string& path, std::size_t bits = 0);

// Looks at a .codes file where it stands: the header is verified, the codes' checksum is not, and codes are read only
// where their length is no multiple of 8 (for bits beyond it). The file must not be changed while the result lives.
Codes map_codes(const std::string& path);

// Writes .codes, .npy or .bvecs by the name's ending.
void save_codes(const Codes& codes, const std::string& path);

}  // namespace bdnn
