// A piece of a database as the plans see it: codes, keys and hash tables that never change, in memory that others own.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "search/costs.h"
#include "search/hash_tables.h"
#include "search/scan.h"

namespace bdnn {

// Keys of rows, ascending: `count` ids or names, or ids that count on from `first`.
struct KeyView {
  std::size_t count = 0;
  std::uint64_t first = 0;
  const std::uint64_t* ids = nullptr;          // null: first, first + 1, ...
  const std::uint64_t* name_starts = nullptr;  // count + 1 places in the text; null: keys are ids
  std::string_view text;

  bool names() const { return name_starts != nullptr; }
  std::uint64_t id(std::size_t row) const { return ids != nullptr ? ids[row] : first + row; }
  std::string_view name(std::size_t row) const {
    // A damaged file must not lead outside.
    const std::uint64_t end = std::min<std::uint64_t>(name_starts[row + 1], text.size());
    const std::uint64_t begin = std::min(name_starts[row], end);
    return text.substr(begin, end - begin);
  }

  std::optional<std::size_t> find(std::uint64_t id) const;
  std::optional<std::size_t> find(std::string_view name) const;
};

// What building measured on a sample of the codes: it tells the planner what hash tables are worth.
struct Statistics {
  static constexpr std::array<std::size_t, 4> kNeighbours = {1, 10, 100, 1000};

  double duplicates = 0;                                // the share of codes that have an equal
  std::array<std::vector<std::uint16_t>, 4> distances;  // of each sample to its k-th other code, k as above
  std::vector<double> within;                           // how many other codes a sample has within 0, 1, 2, ... bits
  std::vector<double> step_buckets;                     // by step of search_hash_tables(): buckets that hold codes ...
  std::vector<double> step_candidates;                  // ... and the codes in them, on average
};

struct Segment {
  ScanSource codes;
  HashTables hash_tables;  // perhaps none
  KeyView keys;
  const std::uint64_t* live = nullptr;  // null: all
  std::size_t live_count = 0;
  Statistics statistics;
  std::vector<ProbeStep> steps;  // of its hash tables, as far as any search would go: see expect_steps()

  std::size_t size() const { return codes.count; }
  bool is_live(std::size_t row) const { return live == nullptr || ((live[row / 64] >> row % 64) & 1) != 0; }
};

// Codes as they stand, which count on from 0, without hash tables. Rows have 32 bits, so more than that many are
// several.
inline constexpr std::size_t kMostRows = (std::size_t{1} << 32) - 256;  // whole tiles of any layout
std::vector<Segment> as_segments(const Codes& codes, std::size_t most_rows = kMostRows);

}  // namespace bdnn
