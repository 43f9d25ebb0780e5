// Binary codes and their files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bdnn {

inline constexpr std::size_t kMaxBits = 4096;

// Bytes per code of `bits` bits.
constexpr std::size_t bytes_for_bits(std::size_t bits) { return (bits + 7) / 8; }

// Where codes come from, as far as known.
struct CodesOrigin {
  std::string model;  // fingerprint(model) of the model that encoded them, or ""; codes of different models never match
  std::string method;    // "itq", or "" if unknown
  bool refined = false;  // chosen for the decoder, not the signs of the hash function (EncodeOptions)
  int local_search = 0;  // of refined codes: rounds of local search
};

// Codes of 1 to 4,096 bits each, one after the other, 8 bits to a byte: bit i of a code is bit i % 8 (counted from the
// least significant) of its byte i / 8, the order of numpy.packbits(..., bitorder='little') and of Faiss's binary
// indexes. A bit is 1 if the hash function is >= 0. Unused bits of the last byte are 0.
// Copies are cheap: they share the bytes, which never change.
class Codes {
 public:
  Codes() = default;
  Codes(const Codes&) = default;
  Codes(Codes&& other) noexcept { swap(other); }  // leaves `other` empty
  Codes& operator=(Codes other) noexcept {
    swap(other);
    return *this;
  }

  // Takes ownership of the bytes; bytes.size() must be count * ceil(bits / 8).
  Codes(std::size_t bits, std::size_t count, std::vector<std::uint8_t> bytes, CodesOrigin origin = {});

  // Shares ownership of the bytes.
  Codes(std::size_t bits, std::size_t count, std::shared_ptr<const std::uint8_t> bytes, CodesOrigin origin = {});

  std::size_t bits() const { return bits_; }
  std::size_t size() const { return count_; }
  std::size_t bytes_per_code() const { return bytes_for_bits(bits_); }
  const std::uint8_t* data() const { return data_.get(); }
  const CodesOrigin& origin() const { return origin_; }

  // Codes [first, first + count), without a copy; a range beyond the end raises Error.
  Codes slice(std::size_t first, std::size_t count) const;

  std::span<const std::uint8_t> operator[](std::size_t i) const {
    return {data_.get() + i * bytes_per_code(), bytes_per_code()};
  }

 private:
  void swap(Codes& other) noexcept {
    std::swap(bits_, other.bits_);
    std::swap(count_, other.count_);
    std::swap(data_, other.data_);
    std::swap(origin_, other.origin_);
  }

  std::size_t bits_ = 0;
  std::size_t count_ = 0;
  std::shared_ptr<const std::uint8_t> data_;
  CodesOrigin origin_;
};

// The number of bits in which two codes of the same length differ.
std::size_t hamming_distance(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b);

// Reads codes from .codes (checksum verified), .npy (uint8, a code per row) or .bvecs. The last two do not record
// the length in bits; pass it as `bits`, or 0 for all bits of their bytes.
Codes load_codes(const std::string& path, std::size_t bits = 0);

// Maps a .codes file into memory. The header is verified, the checksum of the codes is not; codes are read only if
// their length is not a multiple of 8, to check the unused bits. The file must not change while the result is in use.
Codes map_codes(const std::string& path);

// Writes .codes, .npy or .bvecs, chosen by the file name. A .bvecs file cannot hold an empty set of codes: that raises
// Error.
void save_codes(const Codes& codes, const std::string& path);

}  // namespace bdnn
