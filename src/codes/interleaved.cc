#include "codes/interleaved.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace bdnn {
namespace {

// The position of lane `lane` of code `i`.
std::size_t lane_offset(const CodeLayout& layout, std::size_t i, std::size_t lane) {
  const std::size_t strip = i / layout.codes_per_strip();
  const std::size_t place = i % layout.codes_per_strip();
  return (strip * layout.lanes + lane) * kLine + place * layout.lane_bytes;
}

// Lane by lane, with a copy of constant size but for the last lane of a code.
template <std::size_t kLaneBytes>
void interleave_lanes(const CodeLayout& layout, const std::uint8_t* packed, std::size_t count, std::uint8_t* out) {
  const std::size_t bytes = layout.bytes_per_code();
  const std::size_t whole = bytes / kLaneBytes;
  for (std::size_t i = 0; i < count; ++i, packed += bytes) {
    std::uint8_t* to = out + lane_offset(layout, i, 0);
    for (std::size_t lane = 0; lane < whole; ++lane)
      std::memcpy(to + lane * kLine, packed + lane * kLaneBytes, kLaneBytes);
    if (whole < layout.lanes) std::memcpy(to + whole * kLine, packed + whole * kLaneBytes, bytes - whole * kLaneBytes);
  }
}

}  // namespace

CodeLayout::CodeLayout(std::size_t code_bits) : bits(code_bits) {
  if (code_bits == 0) misuse("codes of 0 bits were given; they have 1 to {}", kMaxBits);
  const std::size_t bytes = bytes_per_code();
  if (bytes <= 2) {
    lane_bytes = bytes;
    return;
  }
  // Lanes of 4 bytes waste less of an odd length; otherwise, lanes of 8 bytes leave codes of 64 bits as they
  // are.
  const std::size_t words = (bytes + 3) / 4;
  lane_bytes = words % 2 == 1 ? 4 : 8;
  lanes = lane_bytes == 4 ? words : words / 2;
}

void interleave(const CodeLayout& layout, const std::uint8_t* packed, std::size_t count, std::uint8_t* out) {
  if (layout.is_packed()) {
    const std::size_t bytes = count * layout.bytes_per_code();
    if (bytes > 0) std::memcpy(out, packed, bytes);
    std::memset(out + bytes, 0, layout.bytes(count) - bytes);
    return;
  }
  // Unused bytes of a last lane, and missing codes of a last tile, are zeros.
  std::memset(out, 0, layout.bytes(count));
  if (layout.lane_bytes == 4) {
    interleave_lanes<4>(layout, packed, count, out);
  } else {
    interleave_lanes<8>(layout, packed, count, out);
  }
}

void deinterleave(const CodeLayout& layout, const std::uint8_t* tiles, std::size_t i, std::uint8_t* packed) {
  const std::size_t bytes = layout.bytes_per_code();
  for (std::size_t lane = 0; lane < layout.lanes; ++lane) {
    const std::size_t at = lane * layout.lane_bytes;
    std::memcpy(packed + at, tiles + lane_offset(layout, i, lane), std::min(layout.lane_bytes, bytes - at));
  }
}

void copy_code(const CodeLayout& layout, const std::uint8_t* from, std::size_t i, std::uint8_t* to, std::size_t j) {
  from += lane_offset(layout, i, 0);
  to += lane_offset(layout, j, 0);
  for (std::size_t lane = 0; lane < layout.lanes; ++lane, from += kLine, to += kLine) {
    switch (layout.lane_bytes) {  // a copy of constant size is a move
      case 1: *to = *from; break;
      case 2: std::memcpy(to, from, 2); break;
      case 4: std::memcpy(to, from, 4); break;
      default: std::memcpy(to, from, 8); break;
    }
  }
}

}  // namespace bdnn
