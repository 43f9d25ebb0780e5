// Checksums put right after a mutation, else no mutation would get beyond them. What does not look like the format is
// left as it is.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "base/checksum.h"

namespace bdnn::fuzz {

// Of a model or a checkpoint: hexadecimal digits in the header, of the file with zeros in their place.
inline void mend_tensor_file(std::string& bytes) {
  constexpr std::string_view kKey = "\"checksum\":\"";
  const auto at = bytes.find(kKey);
  if (at == std::string::npos || at + kKey.size() + 16 > bytes.size()) return;
  bytes.replace(at + kKey.size(), 16, 16, '0');
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016lx", bdnn::checksum(std::as_bytes(std::span(bytes))));
  bytes.replace(at + kKey.size(), 16, digits);
}

// Of each header of a tar archive: octal digits, the sum of its bytes with blanks in their place.
inline void mend_tar(std::string& bytes) {
  constexpr std::size_t kBlock = 512;
  constexpr std::size_t kSum = 148;
  for (std::size_t block = 0; block + kBlock <= bytes.size(); block += kBlock) {
    if (bytes.compare(block + 257, 5, "ustar") != 0) continue;
    bytes.replace(block + kSum, 8, 8, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(bytes[block + i]);
    char digits[8];
    std::snprintf(digits, sizeof digits, "%06o", sum);
    bytes.replace(block + kSum, 7, digits, 7);
  }
}

// Of each chunk of a PNG picture: its length, its type, its content and their CRC.
inline void mend_png(std::string& bytes) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at])); };
  for (std::size_t chunk = 8; chunk + 12 <= bytes.size();) {
    const std::size_t length = byte(chunk) << 24 | byte(chunk + 1) << 16 | byte(chunk + 2) << 8 | byte(chunk + 3);
    if (length > bytes.size() - chunk - 12) return;
    const auto* content = reinterpret_cast<const Bytef*>(bytes.data() + chunk + 4);
    const auto sum = static_cast<std::uint32_t>(crc32(0, content, static_cast<uInt>(length + 4)));
    for (std::size_t i = 0; i < 4; ++i) bytes[chunk + 8 + length + i] = static_cast<char>(sum >> (24 - 8 * i));
    chunk += 12 + length;
  }
}

}  // namespace bdnn::fuzz
