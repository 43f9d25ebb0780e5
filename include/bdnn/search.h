// Exact search by Hamming distance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bdnn/codes.h"
#include "bdnn/results.h"

namespace bdnn {

struct Neighbour {
  std::uint64_t id = 0;        // position in the database, or id in an index
  std::uint32_t distance = 0;  // in bits

  bool operator==(const Neighbour&) const = default;
};

// Neighbours of many queries.
using Results = ResultLists<Neighbour>;

// How to search. All plans give the same answers; `automatic` lets the planner pick the one it expects to be fastest.
enum class Plan : std::uint8_t {
  automatic,
  scan,    // compare every code with the query
  mih,     // multi-index hashing, for more than 16 bits: hash tables over substrings of the codes
  bucket,  // for 16 bits and fewer: one hash table over whole codes, probed by growing distance from the query
};
inline constexpr Plan kAllPlans[] = {Plan::automatic, Plan::scan, Plan::mih, Plan::bucket};
std::string_view name_of(Plan plan);
Plan plan_by_name(const std::string& name);  // an unknown name raises Error and lists the valid ones

struct SearchOptions {
  std::size_t k = 10;                      // the k nearest ...
  std::optional<std::size_t> radius = {};  // ... or, if set, all at this distance or less
  int threads = 0;                         // 0: one per core. Results do not depend on it
  Plan plan = Plan::automatic;             // results do not depend on it either
};

// The neighbours of each query by ascending distance, then ascending id; fewer than k if the database is smaller,
// without padding. Codes of different lengths or models raise Error.
//
// For repeated searches, or ids of your own, build an Index (bdnn/index.h).
Results search(const Codes& database, const Codes& queries, const SearchOptions& options = {});

// The planner's estimate: average time per query, on all threads together.
struct PlanEstimate {
  Plan plan = Plan::scan;              // the plan it chose
  double microseconds = 0;             // with that plan
  double scan_microseconds = 0;        // with a scan
  double hash_table_microseconds = 0;  // with hash tables; 0 if there are none
  std::string text;                    // the same in words, one line per segment
};

// The plan for a batch of `queries` queries, without searching.
PlanEstimate explain(const Codes& database, std::size_t queries, const SearchOptions& options = {});

}  // namespace bdnn
