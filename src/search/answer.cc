#include "search/answer.h"

#include <limits>
#include <numeric>

#include "base/error.h"
#include "coding/codes_match.h"
#include "search/content.h"

namespace bdnn {
namespace {

constexpr std::size_t kQueriesTogether = 1024;  // bounds the memory for what is found

}  // namespace

void check_plan(std::size_t bits, Plan plan) {
  if (plan == Plan::mih && bits <= kMostBucketBits) {
    misuse("multi-index hashing is for codes of more than {} bits, these have {}; use the plan 'bucket'",
           kMostBucketBits, bits);
  }
  if (plan == Plan::bucket && bits > kMostBucketBits) {
    misuse("bucket lookup is for codes of at most {} bits, these have {}; use the plan 'mih'", kMostBucketBits, bits);
  }
}

void check_question(std::size_t bits, const CodesOrigin& origin, const Codes& queries, const SearchOptions& options) {
  check_queries_match(bits, origin, queries);
  if (!options.radius && options.k == 0) misuse("0 neighbours were asked for; ask for at least 1");
  check_plan(bits, options.plan);
}

void Answerer::look_up(std::size_t query, std::size_t fetched, int worker) {
  Collector& collector = collectors_[query];
  const Segment& segment = *lookups_.segment;
  collector.start(*lookups_.question, segment.codes.layout.bits, Arrival::any, *lookups_.filter,
                  segment.codes.layout.bits);
  const double budget = lookups_.budget.of(query, left_count_.load(std::memory_order_relaxed));
  const bool finished = search_hash_tables(segment.hash_tables, segment.steps, lookups_.costs, queries_[query], budget,
                                           fetched, hash_table_scratch_[static_cast<std::size_t>(worker)], collector);
  unfinished_[query] = finished ? 0 : 1;
  if (!finished) left_count_.fetch_add(1, std::memory_order_relaxed);
}

void Answerer::answer_gathered(const Segment& segment, const RowFilter& filter, const Workload& workload) {
  gather(segment.codes, filter, gathered_);
  numbering_ = gathered_.rows;
  const ScanSource few{segment.codes.layout, gathered_.rows.size(), gathered_.tiles.data(), nullptr};
  const RowFilter all{few.count, nullptr, nullptr};
  scan(few, all, workload.question, few.layout.bits, queries_, all_, threads_, scan_scratch_, collectors_.data());
}

void Answerer::answer_segment(const Segment& segment, const RowFilter& filter, const Workload& workload, Plan plan) {
  const Estimate expected = estimate(segment, workload, plan);
  const std::size_t guess = likely_distance(segment, workload);
  numbering_ = {};
  if (expected.plan == Plan::scan || segment.hash_tables.tables.empty()) {
    if (expected.gathers) return answer_gathered(segment, filter, workload);
    scan(segment.codes, filter, workload.question, guess, queries_, all_, threads_, scan_scratch_, collectors_.data());
    return;
  }
  hash_table_scratch_.resize(static_cast<std::size_t>(threads_.count()));
  lookups_ = {&segment, &filter, &workload.question, ProbeCosts(segment.hash_tables), expected.budget};
  left_count_ = 0;
  constexpr std::size_t kPerTurn = 8;
  const std::size_t turns = (queries_.size() + kPerTurn - 1) / kPerTurn;
  const auto turn = [this](std::size_t number, int worker) {
    const std::size_t end = std::min((number + 1) * kPerTurn, queries_.size());
    // How far a radius goes is known before the search; the k nearest may be met in the first step.
    const std::size_t steps = lookups_.question->radius ? *lookups_.question->radius + 1 : 0;
    std::size_t fetched = 0;
    for (std::size_t q = number * kPerTurn; q < end; ++q) {
      const std::size_t ahead =
          q + 1 < queries_.size() ? fetch_steps(lookups_.segment->hash_tables, queries_[q + 1], steps) : 0;
      look_up(q, fetched, worker);
      fetched = ahead;
    }
  };
  if (turns == 1) {
    turn(0, 0);
  } else {
    threads_.for_each(turns, turn);
  }
  left_.clear();
  for (std::size_t q = 0; q < queries_.size(); ++q) {
    if (unfinished_[q] != 0) left_.push_back(static_cast<std::uint32_t>(q));
  }
  scan(segment.codes, filter, workload.question, guess, queries_, left_, threads_, scan_scratch_, collectors_.data());
}

void Answerer::emit(std::span<const Segment> segments, std::size_t segment) {
  const KeyView& keys = segments[segment].keys;
  for (std::size_t q = 0; q < queries_.size(); ++q) {
    for (const Hit& hit : collectors_[q].finish()) {
      const std::size_t row = row_of(hit);
      const std::uint64_t id = keys.names() ? row_handle(segment, row) : keys.id(row);
      found_[q].push_back({{id, hit.distance}, keys.names() ? keys.name(row) : std::string_view()});
    }
  }
}

void Answerer::merge(std::size_t k, Results& results) {
  for (std::size_t q = 0; q < queries_.size(); ++q) {
    auto& found = found_[q];
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
      if (a.neighbour.distance != b.neighbour.distance) return a.neighbour.distance < b.neighbour.distance;
      return a.name != b.name ? a.name < b.name : a.neighbour.id < b.neighbour.id;
    });
    row_.clear();
    for (std::size_t i = 0; i < std::min(k, found.size()); ++i) row_.push_back(found[i].neighbour);
    results.append(row_);
    found.clear();
  }
}

void Answerer::answer(std::span<const Segment> segments, const Codes& queries, const SearchOptions& options,
                      const Filter* filter, Results& results) {
  const Question question{options.k, options.radius};
  const std::size_t k = options.radius ? std::numeric_limits<std::size_t>::max() : options.k;
  for (std::size_t first = 0; first < queries.size(); first += kQueriesTogether) {
    const std::size_t count = std::min(kQueriesTogether, queries.size() - first);
    queries_.assign(queries, first, count);
    if (collectors_.size() < count) collectors_.resize(count);
    if (unfinished_.size() < count) unfinished_.resize(count);
    if (segments.size() != 1 && found_.size() < count) found_.resize(count);
    all_.resize(count);
    std::iota(all_.begin(), all_.end(), 0U);
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const Segment& segment = segments[s];
      const RowFilter rows{segment.size(), segment.live, filter == nullptr ? nullptr : filter->rows(s)};
      const auto allowed = filter == nullptr ? std::nullopt : std::optional(filter->count(s));
      answer_segment(segment, rows, workload_of(segment, question, count, threads_.count(), allowed), options.plan);
      if (segments.size() != 1) emit(segments, s);
    }
    if (segments.size() != 1) {
      merge(k, results);
      continue;
    }
    const KeyView& keys = segments.front().keys;
    for (std::size_t q = 0; q < count; ++q) {
      row_.clear();
      for (const Hit& hit : collectors_[q].finish()) {
        const std::size_t row = row_of(hit);
        row_.push_back({keys.names() ? row_handle(0, row) : keys.id(row), hit.distance});
      }
      results.append(row_);
    }
  }
}

}  // namespace bdnn
