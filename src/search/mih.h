// Exact search through tables of substrings.
#pragma once

#include "search/collector.h"
#include "search/tables.h"

namespace bdnn {

// What one step of a search costs, in nanoseconds on the machine of docs/search.md; ratios carry over.
inline constexpr double kProbeCost = 3;         // a look at a bucket
inline constexpr double kBucketCost = 60;       // one with codes in it: two cache lines from afar
inline constexpr double kCandidateCost = 1;     // a code in a bucket compared with the query
inline constexpr double kWholeBucketCost = 15;  // one of equal codes, which need not be compared

// Buffers of a search, kept from one to the next.
struct TableScratch {
  std::vector<Hit> hits;
};

// Looks into buckets at growing distance from the query's own until the answer is complete, and returns true; or
// returns false, the answer unfinished, once more than `budget` nanoseconds would be spent by the costs above.
//
// Step (s, j) looks at all buckets of table j whose substring differs in exactly s bits. After it, every code within
// distance s * tables + j has been met: one that was not differs in at least s + 1 bits of each of the first j + 1
// substrings and in at least s of each other.
bool search_tables(const Tables& tables, const std::uint8_t* query, double budget, TableScratch& scratch,
                   Collector& collector);

}  // namespace bdnn
