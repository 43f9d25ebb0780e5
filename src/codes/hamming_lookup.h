// Hamming distances of codes to many queries at once: for each value of each byte of a code, a lookup table has the
// number of bits in which it differs from that byte of 32 queries, side by side, so that one load and one addition per
// byte of a code serve all of them. Without an instruction that counts bits, this is faster than counting them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codes/hamming_scan.h"

namespace bdnn {

inline constexpr std::size_t kQueriesPerLookup = 32;

// The time scan_tiles_by_lookup() takes per cache line of codes, for any number of queries: see scan_line_cost().
// Infinite if the SIMD target in use has a better way, or the lookup tables would exceed the second-level cache.
double lookup_line_cost(const CodeLayout& layout);

// How many of the queries, counted from the first, are fastest by lookup; scan_tiles() is faster for the others.
std::size_t queries_by_lookup(const CodeLayout& layout, std::size_t codes, std::size_t queries);

// Memory for the lookup tables, reused between scans.
class LookupRoom {
 public:
  // Aligned to a cache line.
  std::uint8_t* get(const CodeLayout& layout) {
    const std::size_t size = layout.lanes * layout.lane_bytes * 256 * kQueriesPerLookup;
    if (bytes_.size() < size + kLine) bytes_.resize(size + kLine);
    return bytes_.data() + (kLine - reinterpret_cast<std::uintptr_t>(bytes_.data()) % kLine);
  }

 private:
  std::vector<std::uint8_t> bytes_;
};

// As scan_tiles(), by lookup tables, for up to kQueriesPerLookup tasks.
void scan_tiles_by_lookup(const CodeLayout& layout, const std::uint8_t* tiles, std::size_t tile_count,
                          std::uint32_t first_row, ScanTask* tasks, std::size_t task_count, HitSink sink,
                          LookupRoom& room);

// As scan_tiles(), each task in the fastest way.
void scan_tasks(const CodeLayout& layout, const std::uint8_t* tiles, std::size_t tile_count, std::uint32_t first_row,
                ScanTask* tasks, std::size_t task_count, HitSink sink, LookupRoom& room);

}  // namespace bdnn
