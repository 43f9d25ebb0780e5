#include "search/stored_codes.h"

namespace bdnn {

bool StoredCodes::fetch(const Codes& codes, std::uint64_t id, std::uint8_t* code) {
  if (id >= codes.size()) return false;
  std::copy_n(codes[id].data(), codes.bytes_per_code(), code);
  return true;
}

bool StoredCodes::fetch(const Index& index, std::uint64_t id, std::uint8_t* code) {
  const auto& segments = index.content().segments;
  const CodeLayout layout(index.bits());
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const Segment& segment = segments[s];
    std::optional<std::size_t> row = segment.keys.find(id);
    if (segment.keys.names() && id >> 32 == s) row = static_cast<std::uint32_t>(id);
    if (!row || *row >= segment.size() || !segment.is_live(*row)) continue;
    deinterleave(layout, segment.codes.tiles, *row, code);
    return true;
  }
  return false;
}

}  // namespace bdnn
