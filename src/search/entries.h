// Codes with their keys, on their way into an index.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bdnn/index.h"
#include "search/index_format.h"

namespace bdnn {

// Codes with their keys, which are ids that count on from `first` where neither ids nor names are given.
struct Entries {
  Codes codes;
  std::uint64_t first = 0;
  std::vector<std::uint64_t> ids;
  std::vector<std::string> names;

  bool is_dense() const { return ids.empty() && names.empty(); }
};

// In ascending order of their keys, ids that count on without a gap as such. A key that comes twice raises Error.
Entries in_key_order(Entries entries);

// The codes with keys as they were given; those without count on from `next_id`.
Entries entries_of(const Codes& codes, const IndexKeys& keys, std::uint64_t next_id);

// One more than the largest id, or as before.
std::uint64_t next_id_after(const Entries& entries, std::uint64_t before);

// What is left of segments, in key order.
Entries entries_in(std::span<const Segment> segments, const Catalog& catalog);

// Both in one, in key order.
Entries joined(const Entries& a, const Entries& b, bool names);

}  // namespace bdnn
