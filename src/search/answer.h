// Answers to queries from the segments of a database.
#pragma once

#include <atomic>

#include "base/threads.h"
#include "bdnn/index.h"
#include "search/gather.h"
#include "search/mih.h"
#include "search/planner.h"
#include "search/segment.h"

namespace bdnn {

// Raises Error where these queries cannot be asked of codes of that length and origin.
void check_question(std::size_t bits, const CodesOrigin& origin, const Codes& queries, const SearchOptions& options);

// Raises Error where a plan is forced that codes of that length cannot have.
void check_plan(std::size_t bits, Plan plan);

// Threads and buffers, kept from one search to the next.
class Answerer {
 public:
  explicit Answerer(int threads) : threads_(threads) {}

  int threads() const { return threads_.count(); }

  // Appends the neighbours of every query to `results`. allowed(segment) is the bitmap of a filter, or null.
  void answer(std::span<const Segment> segments, const Codes& queries, const SearchOptions& options,
              const Filter* filter, Results& results);

 private:
  struct Found {
    Neighbour neighbour;
    std::string_view name;
  };

  void answer_gathered(const Segment& segment, const RowFilter& filter, const Workload& workload);
  void answer_segment(const Segment& segment, const RowFilter& filter, const Workload& workload, Plan plan);
  void look_up(std::size_t query, std::size_t fetched, int worker);
  std::size_t row_of(const Hit& hit) const { return numbering_.empty() ? hit.row : numbering_[hit.row]; }
  void emit(std::span<const Segment> segments, std::size_t segment);
  void merge(std::size_t k, Results& results);

  // What look_up() needs, the same for all queries.
  struct Lookups {
    const Segment* segment = nullptr;
    const RowFilter* filter = nullptr;
    const Question* question = nullptr;
    ProbeCosts costs;
    Budget budget;
  };

  Threads threads_;
  PreparedQueries queries_;
  ScanScratch scan_scratch_;
  std::vector<HashTableScratch> hash_table_scratch_;
  std::vector<Collector> collectors_;
  std::vector<std::uint32_t> all_;
  std::atomic<std::size_t> left_count_ = 0;
  std::vector<std::uint32_t> left_;  // queries that the hash tables did not answer within their budget
  std::vector<std::uint8_t> unfinished_;
  Lookups lookups_;
  GatheredCodes gathered_;
  std::span<const std::uint32_t> numbering_;  // the rows that the collectors' stand for, where codes were gathered
  std::vector<Neighbour> row_;
  std::vector<std::vector<Found>> found_;  // by query, where there are several segments
};

}  // namespace bdnn
