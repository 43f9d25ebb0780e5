// The inner loops of search: which codes are nearer to a query than its threshold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codes/interleaved.h"

namespace bdnn {

struct Hit {
  std::uint32_t row = 0;  // the code's place
  std::uint32_t distance = 0;
};

// Receives hits as they are found and returns the new threshold: codes at that distance or farther no longer matter.
using HitSink = std::uint32_t (*)(void* collector, const Hit* hits, std::size_t count);

struct ScanTask {
  const std::uint8_t* query = nullptr;  // layout.lanes lanes
  void* collector = nullptr;
  std::uint32_t below = 0;  // the threshold
};

inline constexpr std::size_t kQueriesPerLoad = 4;  // that scan the codes together

// Compares every code of `tile_count` tiles with the queries of `task_count` tasks. Codes are numbered from
// `first_row`; those beyond the end of the database, which fill up its last tile, are reported as well: the sink
// ignores them.
void scan_tiles(const CodeLayout& layout, const std::uint8_t* tiles, std::size_t tile_count, std::uint32_t first_row,
                ScanTask* tasks, std::size_t task_count, HitSink sink);

// The time scan_tiles() takes per cache line of codes for this many queries with the SIMD target in use, in nanoseconds
// on the machine of docs/search.md; ratios carry over to other machines.
double scan_line_cost(const CodeLayout& layout, std::size_t queries);

// Scans codes stored word after word: word w of code i is planes[w * stride + i], of 4 bytes where
// `word_bytes` is 4, else of 8. Of the codes [begin, end), those nearer than `below` are written to `hits` with
// `row` counted from 0 at plane index 0; returns their number. `hits` has room for end - begin, and kLine bytes beyond
// the planes can be read.
std::size_t scan_planes(std::size_t word_bytes, std::size_t words, const std::uint8_t* planes, std::size_t stride,
                        std::size_t begin, std::size_t end, const std::uint8_t* query, std::uint32_t below, Hit* hits);

}  // namespace bdnn
