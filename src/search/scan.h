// Exact search by looking at every code.
#pragma once

#include <vector>

#include "base/threads.h"
#include "codes/hamming_lookup.h"
#include "search/collector.h"
#include "search/queries.h"

namespace bdnn {

// Codes to be scanned: whole tiles, or packed codes that become tiles a block at a time.
struct ScanSource {
  CodeLayout layout;
  std::size_t count = 0;
  const std::uint8_t* tiles = nullptr;
  const std::uint8_t* packed = nullptr;
};

// Buffers of a scan, kept from one to the next.
struct ScanScratch {
  struct Worker {
    std::vector<ScanTask> tasks;  // of one unit of work
    std::vector<std::uint8_t> block;
    LookupRoom lookup;
  };
  std::vector<Worker> workers;
  std::vector<Collector> parts;      // where a query is split over threads
  std::vector<std::uint32_t> again;  // queries for which the guess was wrong
};

// Collects the answers of queries[which[i]] in collectors[which[i]], for all i. Those collectors need not be started.
// The k nearest are guessed to be within the distance `guess`: a good one spares most of what the first codes would
// have cost, a bad one a part of a scan. The longest distance is none.
void scan(const ScanSource& source, const RowFilter& filter, const Question& question, std::size_t guess,
          const PreparedQueries& queries, std::span<const std::uint32_t> which, Threads& threads, ScanScratch& scratch,
          Collector* collectors);

}  // namespace bdnn
