// Exact search through hash tables of substrings.
#pragma once

#include "search/collector.h"
#include "search/costs.h"
#include "search/hash_tables.h"

namespace bdnn {

// Buffers of a search, kept from one to the next.
struct HashTableScratch {
  static constexpr std::size_t kHits = 1024;  // codes of a bucket that are looked at together

  std::vector<Hit> hits = std::vector<Hit>(kHits);
};

// Looks into buckets at growing distance from the query's own until the answer is complete, and returns true; or
// returns false, the answer unfinished, once more than `budget` nanoseconds would be spent by `costs`, to go by what
// was met so far and what the next of `steps` is expected to meet.
//
// Step (s, j) looks at all buckets of hash table j whose substring differs in exactly s bits. After it, every code
// within distance s * tables + j has been met: one that was not differs in at least s + 1 bits of each of the first j +
// 1 substrings and in at least s of each other. The first `fetched` steps are those that fetch_steps() was called for.
bool search_hash_tables(const HashTables& tables, std::span<const ProbeStep> steps, const ProbeCosts& costs,
                        const std::uint8_t* query, double budget, std::size_t fetched, HashTableScratch& scratch,
                        Collector& collector);

// Has the memory send the buckets of a query's first steps while another query is answered. Returns how many steps it
// was for: at most as many as differ in one bit.
std::size_t fetch_steps(const HashTables& tables, const std::uint8_t* query, std::size_t steps);

}  // namespace bdnn
