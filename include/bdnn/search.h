// Exact search by Hamming distance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bdnn/codes.h"

namespace bdnn {

struct Neighbour {
  std::uint64_t id = 0;        // the position of the code in the database, or its id in an index
  std::uint32_t distance = 0;  // in bits

  bool operator==(const Neighbour&) const = default;
};

// How a search goes about it. All plans give the same answers; the planner picks the one that it expects to be fastest.
enum class Plan : std::uint8_t {
  automatic,
  scan,    // every code is compared with the query
  mih,     // multi-index hashing, for more than 16 bits: tables over substrings of the codes lead to the near ones
  bucket,  // for 16 bits and fewer: a table of all codes, walked by growing distance from the query
};
std::string_view name_of(Plan plan);
Plan plan_by_name(const std::string& name);  // an unknown name raises Error and lists the valid ones

struct SearchOptions {
  std::size_t k = 10;                      // the k nearest ...
  std::optional<std::size_t> radius = {};  // ... or, where set, all within this distance, the distance itself included
  int threads = 0;                         // 0: one per core. Results do not depend on it
  Plan plan = Plan::automatic;             // results do not depend on it either
};

// The neighbours of each query, by ascending distance, then ascending id. There are fewer than k where the database
// has fewer; nothing is padded. Codes of different lengths, or of different models, raise Error.
//
// The database is searched as it stands. To search it again and again, or with ids of your own, make an Index
// (bdnn/index.h).
std::vector<std::vector<Neighbour>> search(const Codes& database, const Codes& queries,
                                           const SearchOptions& options = {});

// What the planner expects of a search, per query on average, on all threads together.
struct PlanEstimate {
  Plan plan = Plan::scan;         // what will be done
  double microseconds = 0;        // by that plan
  double scan_microseconds = 0;   // by a scan
  double table_microseconds = 0;  // through tables, 0 where there are none
  std::string text;               // the same in words, a line per segment
};

// What search() would do for so many queries, without doing it.
PlanEstimate explain(const Codes& database, std::size_t queries, const SearchOptions& options = {});

}  // namespace bdnn
