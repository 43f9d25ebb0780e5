// What the steps of a search cost, in nanoseconds on the machine of docs/search.md; ratios carry over to others.
#pragma once

#include <algorithm>

#include "search/hash_tables.h"

namespace bdnn {

inline constexpr double kCallCost = 220;  // of a search, whatever it looks at ...
inline constexpr double kQueryCost = 60;  // ... and of each query
inline constexpr double kFillCost = 2.5;  // a code of a scan's first tile, which are all near enough at that time
inline constexpr double kFoundCost = 12;  // a code that is returned, where codes are met in ascending order
inline constexpr double kSortedFoundCost =
    2.5;  // the same, times the logarithm of how many, where they have to be sorted

inline constexpr double kFilterWordCost = 0.7;  // 64 rows of a filter
inline constexpr double kTileLookCost = 2;      // whether a filter wants anything of a tile ...
inline constexpr double kRunCost = 15;          // ... and a start anew after one of which it wants nothing
inline constexpr double kLaneMoveCost = 3;      // of a code that is put together with others

// A tile that holds a code nearer than the threshold.
double tile_hit_cost(const CodeLayout& layout);

// A cache line of so many bytes of codes brought from where they stay between two scans.
double fetch_cost(double bytes);

// What a step of search_hash_tables() is expected to look at.
struct ProbeStep {
  double probes = 0;
  double buckets = 0;
  double candidates = 0;
};

// A search through hash tables.
struct ProbeCosts {
  ProbeCosts() = default;
  explicit ProbeCosts(const HashTables& tables);

  double probe = 0;      // a look whether a bucket holds codes
  double bucket = 0;     // one that does
  double candidate = 0;  // a code in it, compared with the query
  double hit = 0;        // one that is near enough: is it met for the first time?

  // Of a bucket, no more than so many codes are looked at.
  double of(const ProbeStep& step, double most_of_a_bucket) const {
    const double looked_at = std::min(step.candidates, step.buckets * most_of_a_bucket);
    return probe * step.probes + bucket * step.buckets + candidate * looked_at;
  }
};

}  // namespace bdnn
