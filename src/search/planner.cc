#include "search/planner.h"

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "search/combinations.h"
#include "search/mih.h"

namespace bdnn {
namespace {

constexpr std::size_t kSamples = 64;
constexpr std::size_t kWholeCodeSamples = 8;           // whose buckets, all of them, are counted
constexpr std::size_t kMeasuredSubstringDistance = 3;  // farther buckets are too many to count; codes are spread evenly

// Nanoseconds per cache line of codes on the machine of docs/search.md; ratios carry over.
constexpr double kLineCost = 0.65;          // compared with one query of several
constexpr double kLineFetch = 2.2;          // brought from the third-level cache
constexpr double kLineFetchFromMemory = 4;  // ... or from memory
constexpr double kCacheBytes = 24e6;
constexpr double kQueriesPerFetch = 128;
constexpr double kQueryCost = 500;   // what a query costs a scan, however few the codes ...
constexpr double kFoundCost = 60;    // a code that is returned
constexpr double kScanHitCost = 15;  // a code nearer than the threshold of the moment
constexpr double kCallCost = 4000;   // ... and a call
// A plan that is asked for is given this much more time than a scan before it is left, so that it always ends.
constexpr double kForcedFactor = 4;
constexpr double kForcedLeast = 1e6;
constexpr double kBucketMade = 10;               // an empty bucket of a table, and a look at it by way of trial
constexpr std::size_t kLeastForTables = 10'000;  // fewer are scanned in a microsecond or two
constexpr double kPlacement = 25;                // a code put into a table

// The mean over buckets that search_tables() looks at in one step, for one query.
struct Step {
  double buckets = 0;
  double candidates = 0;
};
Step count_step(const std::uint8_t* query, std::size_t s, const Table& table) {
  Step step;
  const std::uint32_t own = substring(query, table.first_bit, table.bits);
  Combinations flips(table.bits, s);
  std::array<std::uint32_t, 64> keys;
  while (const std::size_t count = flips.take(keys.data(), keys.size())) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t* start = table.starts + (own ^ keys[i]);
      step.buckets += start[1] > start[0] ? 1 : 0;
      step.candidates += start[1] - start[0];
    }
  }
  return step;
}

double step_cost(const Tables& tables, const Statistics& statistics, std::size_t number, std::size_t k) {
  const Table& table = tables.tables[number % tables.tables.size()];
  const double probes = binomial(table.bits, number / tables.tables.size());
  const double mean = static_cast<double>(tables.count) / static_cast<double>(table.buckets());
  double buckets = probes * std::min(1.0, mean);
  double candidates = probes * mean;
  if (number < statistics.step_buckets.size()) {
    buckets = statistics.step_buckets[number];
    candidates = statistics.step_candidates[number];
  }
  // Of a bucket of equal codes, the first k are looked at.
  if (tables.of_whole_codes()) candidates = std::min(candidates, buckets * static_cast<double>(k));
  const double bucket = tables.of_whole_codes() ? kWholeBucketCost : kBucketCost;
  return kProbeCost * probes + bucket * buckets + kCandidateCost * candidates;
}

// What queries cost by the distance of their farthest neighbour: the sum of the steps up to it, until the budget is
// spent and a scan does the rest. Worked out once per search, without memory.
class LookupCosts {
 public:
  LookupCosts(const Segment& segment, std::size_t k, double budget, double scan) {
    const std::size_t most = std::min(sums_.size(), segment.codes.layout.bits + 1);
    double sum = 0;
    for (; known_ < most; ++known_) {
      const double more = step_cost(segment.tables, segment.statistics, known_, k);
      if (sum + more > budget) break;
      sums_[known_] = sum += more;
    }
    beyond_ = known_ < most || most < segment.codes.layout.bits + 1 ? sum + scan : sum;
  }

  double at(std::size_t distance) const { return distance < known_ ? sums_[distance] : beyond_; }

 private:
  std::array<double, 257> sums_;
  std::size_t known_ = 0;
  double beyond_ = 0;
};

// How many codes are expected within the radius: told by the largest measured number of neighbours that are.
double expected_within(const Segment& segment, std::size_t radius) {
  double found = 0;
  const auto& distances = segment.statistics.distances;
  for (std::size_t i = 0; i < distances[0].size(); ++i) {
    std::size_t within = 0;
    while (within < distances.size() && distances[within][i] <= radius) ++within;
    found += within == 0 ? 0.0 : static_cast<double>(Statistics::kNeighbours[within - 1]);
  }
  return found / static_cast<double>(std::max<std::size_t>(distances[0].size(), 1));
}

// The cost of what is found, beside that of finding it. A scan takes in many that nearer ones outdo later.
double scan_found_cost(const Segment& segment, const Question& question) {
  if (question.radius) return kFoundCost * expected_within(segment, *question.radius);
  const double k = static_cast<double>(std::min(question.k, segment.size()));
  return kScanHitCost * k * (1 + std::log(static_cast<double>(segment.size() + 1) / (k + 1)));
}

// A code that is found is met in several tables.
double table_found_cost(const Segment& segment, const Question& question) {
  const double meetings = 1 + static_cast<double>(segment.tables.tables.size()) / 3;
  const double found = question.radius ? expected_within(segment, *question.radius) : static_cast<double>(question.k);
  return kFoundCost * found * (segment.tables.of_whole_codes() ? 0.5 : meetings);
}

double nearest_cost(const Segment& segment, std::size_t wanted, double share, double budget, double scan) {
  // A filter makes the k-th that may be returned as far as a later one of all.
  const double k = static_cast<double>(wanted) / std::max(share, 1e-9);
  std::size_t measured = 0;
  while (measured < Statistics::kNeighbours.size() && static_cast<double>(Statistics::kNeighbours[measured]) < k) {
    ++measured;
  }
  if (measured == Statistics::kNeighbours.size()) return budget + scan;
  const auto& upper = segment.statistics.distances[measured];
  const auto& lower = segment.statistics.distances[measured == 0 ? 0 : measured - 1];
  if (upper.empty()) return budget + scan;
  // Between two numbers of neighbours that were measured, distances grow with the logarithm.
  const double low = measured == 0 ? 1 : static_cast<double>(Statistics::kNeighbours[measured - 1]);
  const double high = measured == 0 ? 2 : static_cast<double>(Statistics::kNeighbours[measured]);
  const double weight = std::clamp(std::log(k / low) / std::log(high / low), 0.0, 1.0);
  const LookupCosts costs(segment, wanted, budget, scan);
  double sum = 0;
  for (std::size_t i = 0; i < upper.size(); ++i) {
    sum += costs.at(static_cast<std::size_t>(std::lround(lower[i] + weight * (upper[i] - lower[i]))));
  }
  return sum / static_cast<double>(upper.size());
}

double table_cost(const Segment& segment, const Question& question, double share, double budget, double scan) {
  const double found = kQueryCost + table_found_cost(segment, question);
  if (!question.radius) return found + nearest_cost(segment, question.k, share, budget, scan);
  const std::size_t radius = std::min(*question.radius, segment.codes.layout.bits);
  return found + LookupCosts(segment, segment.size(), budget, scan).at(radius);
}

}  // namespace

Statistics measure(const Segment& segment, Threads& threads) {
  Statistics statistics;
  const std::size_t n = segment.size();
  if (n == 0) return statistics;
  Random random(1);
  const CodeLayout& layout = segment.codes.layout;
  std::vector<std::uint8_t> bytes(kSamples * layout.bytes_per_code());
  for (std::size_t i = 0; i < kSamples; ++i) {
    const std::size_t row = random.below(n);
    std::uint8_t* to = bytes.data() + i * layout.bytes_per_code();
    if (segment.codes.tiles != nullptr) {
      deinterleave(layout, segment.codes.tiles, row, to);
    } else {
      std::memcpy(to, segment.codes.packed + row * layout.bytes_per_code(), layout.bytes_per_code());
    }
  }
  PreparedQueries queries;
  queries.assign(Codes(layout.bits, kSamples, std::move(bytes)), 0, kSamples);
  std::vector<std::uint32_t> which(kSamples);
  std::iota(which.begin(), which.end(), 0U);
  std::vector<Collector> collectors(kSamples);
  ScanScratch scratch;
  const RowFilter all{n, nullptr, nullptr};
  // A code's own distance of zero is left out: that of the next ones stands for a query's.
  scan(segment.codes, all, {Statistics::kNeighbours.back() + 1, {}}, queries, which, threads, scratch,
       collectors.data());
  for (auto& collector : collectors) {
    const auto hits = collector.finish();
    statistics.duplicates += hits.size() > 1 && hits[1].distance == 0 ? 1.0 / kSamples : 0.0;
    for (std::size_t i = 0; i < Statistics::kNeighbours.size(); ++i) {
      const std::size_t k = Statistics::kNeighbours[i];
      statistics.distances[i].push_back(static_cast<std::uint16_t>(k < hits.size() ? hits[k].distance : layout.bits));
    }
  }
  const Tables& tables = segment.tables;
  if (tables.tables.empty()) return statistics;
  const std::size_t farthest = tables.of_whole_codes() ? layout.bits : kMeasuredSubstringDistance;
  const std::size_t samples = tables.of_whole_codes() ? kWholeCodeSamples : kSamples;
  for (std::size_t s = 0; s <= farthest; ++s) {
    for (const Table& table : tables.tables) {
      Step sum;
      for (std::size_t q = 0; q < samples; ++q) {
        const Step step = count_step(queries[q], s, table);
        sum.buckets += step.buckets;
        sum.candidates += step.candidates;
      }
      statistics.step_buckets.push_back(sum.buckets / static_cast<double>(samples));
      statistics.step_candidates.push_back(sum.candidates / static_cast<double>(samples));
    }
  }
  return statistics;
}

double scan_cost(const ScanSource& codes, std::size_t queries) {
  const double bytes = static_cast<double>(codes.layout.bytes(codes.count));
  const double fetch = bytes > kCacheBytes ? kLineFetchFromMemory : kLineFetch;
  const double together = std::min(static_cast<double>(std::max<std::size_t>(queries, 1)), kQueriesPerFetch);
  return kQueryCost + kCallCost / together + bytes / kLine * std::max(kLineCost, fetch / together);
}

double build_cost(const ScanSource& codes) {
  const std::size_t count = substring_count(codes.layout.bits, codes.count);
  const double longest = static_cast<double>(codes.layout.bits) / static_cast<double>(count);
  const double buckets = std::exp2(longest) * static_cast<double>(count);
  return kPlacement * static_cast<double>(codes.count * count) + kBucketMade * buckets +
         static_cast<double>(kSamples) * scan_cost(codes, kSamples);
}

Estimate estimate(const Segment& segment, const Workload& workload, Plan wanted) {
  Estimate result;
  const double threads = std::max(workload.threads, 1);
  const double alone = scan_cost(segment.codes, workload.queries) + scan_found_cost(segment, workload.question);
  result.scan = alone / threads;
  result.table_budget = alone;
  const bool whole = segment.codes.layout.bits <= kMostBucketBits;
  const Plan through_tables = whole ? Plan::bucket : Plan::mih;
  if (!segment.tables.tables.empty()) {
    const double cost = table_cost(segment, workload.question, workload.share, result.table_budget, alone);
    result.tables = cost / std::min(threads, static_cast<double>(std::max<std::size_t>(workload.queries, 1)));
  }
  if (wanted == Plan::automatic) {
    result.plan = !segment.tables.tables.empty() && result.tables < result.scan ? through_tables : Plan::scan;
  } else {
    result.plan = wanted;
    result.table_budget = kForcedFactor * alone + kForcedLeast;
  }
  return result;
}

bool tables_pay(const Segment& segment) {
  if (segment.size() < kLeastForTables) return false;
  const Estimate expected = estimate(segment, {{10, {}}, 100, 1, 1}, Plan::automatic);
  const Estimate near = estimate(segment, {{0, 2}, 100, 1, 1}, Plan::automatic);
  return std::min(expected.tables, near.tables) < 0.7 * expected.scan;
}

}  // namespace bdnn
