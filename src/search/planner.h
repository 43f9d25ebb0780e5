// Which plan is expected to answer fastest, and what tables are worth.
#pragma once

#include "bdnn/index.h"
#include "search/segment.h"

namespace bdnn {

// Measures what the planner needs on a sample of the segment's own codes, which stand for queries to come.
Statistics measure(const Segment& segment, Threads& threads);

// What is known before a search.
struct Workload {
  Question question;
  std::size_t queries = 1;  // that are asked together
  int threads = 1;
  double share = 1;  // of the codes that may be returned
};

// Expected nanoseconds per query, all threads together.
struct Estimate {
  Plan plan = Plan::scan;
  double scan = 0;
  double tables = 0;        // 0 where there are none
  double table_budget = 0;  // for one query on one thread, before it is left to a scan
};
Estimate estimate(const Segment& segment, const Workload& workload, Plan wanted);

// Whether tables would make searches for ten neighbours, in batches, clearly faster. `segment` has the tables.
bool tables_pay(const Segment& segment);

// The cost of one query on one thread in a batch of so many, in nanoseconds.
double scan_cost(const ScanSource& codes, std::size_t queries);

// The cost of making tables, in nanoseconds of one thread.
double build_cost(const ScanSource& codes);

}  // namespace bdnn
