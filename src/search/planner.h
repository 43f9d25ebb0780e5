// Which plan is expected to answer fastest, and what hash tables are worth.
#pragma once

#include "bdnn/index.h"
#include "search/segment.h"

namespace bdnn {

// What lookups in the segment's hash tables will meet, by its statistics: worked out once, for all searches.
std::vector<ProbeStep> expect_steps(const Segment& segment);

// What is known before a search.
struct Workload {
  Question question;
  std::size_t queries = 1;  // that are asked together
  int threads = 1;
  double share = 1;  // of the codes that may be returned
};
Workload workload_of(const Segment& segment, const Question& question, std::size_t queries, int threads,
                     std::optional<std::size_t> allowed);

// How long hash tables are tried, in nanoseconds of one thread, before a query is left to a scan.
struct Budget {
  double each = 0;
  double shared = 0;      // what a scan costs once, for all queries that are left to it
  bool is_final = false;  // most queries may fail

  // For query number `query` of a search, after `left` were left to a scan.
  double of(std::size_t query, std::size_t left) const {
    constexpr std::size_t kEnoughToTell = 16;
    if (!is_final && query >= kEnoughToTell && 2 * left > query) return 0;
    return each + shared / static_cast<double>(left + 1);
  }
};

// Expected nanoseconds per query, all threads together.
struct Estimate {
  Plan plan = Plan::scan;
  bool gathers = false;  // a scan puts the codes together that a filter allows, and looks at no others
  double scan = 0;
  double hash_tables = 0;  // 0 where there are none
  Budget budget;
};
Estimate estimate(const Segment& segment, const Workload& workload, Plan wanted);

// A distance within which the k nearest of a query are expected, or the longest there is: the guess of a scan.
std::size_t likely_distance(const Segment& segment, const Workload& workload);

// Whether hash tables would make searches for ten neighbours, in batches, clearly faster. `segment` has them.
bool hash_tables_pay(const Segment& segment);

// The cost of one query on one thread in a batch of so many that looks at all of so many codes, in nanoseconds.
double scan_cost(const CodeLayout& layout, std::size_t codes, std::size_t queries);

// The cost of making hash tables, in nanoseconds of one thread.
double build_cost(const ScanSource& codes);

}  // namespace bdnn
