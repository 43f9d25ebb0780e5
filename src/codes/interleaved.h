// The layout of codes for a scan.
//
// A code is cut into lanes of 1, 2, 4 or 8 bytes. Codes are stored in strips of one cache line's worth of lanes: first
// lane 0 of every code of the strip, then lane 1 of every code, ... so that one vector holds the same lane of many
// codes and no distance needs a sum across a vector. Codes of one lane (8, 16, 32 or 64 bits) are stored as in a .codes
// file. Four strips are a tile, the unit that a scan compares with its threshold; a last tile is filled up with zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bdnn/codes.h"

namespace bdnn {

inline constexpr std::size_t kLine = 64;          // bytes; a cache line, and the longest vector
inline constexpr std::size_t kStripsPerTile = 4;  // strips per comparison with the threshold

struct CodeLayout {
  std::size_t bits = 0;
  std::size_t lane_bytes = 1;
  std::size_t lanes = 1;  // of one code

  CodeLayout() = default;
  explicit CodeLayout(std::size_t code_bits);

  std::size_t bytes_per_code() const { return bytes_for_bits(bits); }
  std::size_t codes_per_strip() const { return kLine / lane_bytes; }
  std::size_t codes_per_tile() const { return kStripsPerTile * codes_per_strip(); }
  std::size_t bytes_per_tile() const { return kStripsPerTile * kLine * lanes; }
  std::size_t tiles(std::size_t count) const { return (count + codes_per_tile() - 1) / codes_per_tile(); }
  std::size_t bytes(std::size_t count) const { return tiles(count) * bytes_per_tile(); }

  // Whether packed codes have this layout already.
  bool is_packed() const { return lanes == 1 && lane_bytes == bytes_per_code(); }
};

// Writes `count` packed codes to whole tiles at `out`.
void interleave(const CodeLayout& layout, const std::uint8_t* packed, std::size_t count, std::uint8_t* out);

// Reads code `i` from its tile: bytes_per_code() bytes.
void deinterleave(const CodeLayout& layout, const std::uint8_t* tiles, std::size_t i, std::uint8_t* packed);

// Copies code `i` of some tiles to the place of code `j` of others.
void copy_code(const CodeLayout& layout, const std::uint8_t* from, std::size_t i, std::uint8_t* to, std::size_t j);

}  // namespace bdnn
