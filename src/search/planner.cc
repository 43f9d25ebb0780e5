#include "search/planner.h"

#include <array>
#include <cmath>
#include <limits>

#include "codes/hamming_lookup.h"
#include "codes/hamming_scan.h"
#include "search/combinations.h"
#include "search/costs.h"

namespace bdnn {
namespace {

constexpr std::size_t kQueriesPerFetch = 128;  // as a scan takes turns
constexpr std::size_t kLeastForGuess = 32;     // neighbours; for fewer, a scan has too few hits for a guess to matter
constexpr std::size_t kMostSteps = 256;        // that are looked ahead
// Times a scan's cost that lookups may take: the first, unless another is clearly better by the sample.
constexpr std::array<double, 3> kPatiences = {2, 1, 4};
constexpr double kClearlyBetter = 0.97;
// A plan that is asked for is given this much more time than a scan before it is left, so that it always ends.
constexpr double kForcedFactor = 4;
constexpr double kForcedLeast = 1e6;
constexpr double kBucketMade = 10;  // an empty bucket of a hash table, and a look at it by way of trial
constexpr std::size_t kLeastForHashTables = 10'000;  // fewer are scanned in a microsecond or two
constexpr double kPlacement = 25;                    // a code put into a hash table
constexpr double kSamplesMeasured = 64;              // each by a scan

double as_real(std::size_t count) { return static_cast<double>(count); }

// How many codes are returned.
double expected_found(const Segment& segment, const Workload& workload) {
  const Question& question = workload.question;
  if (!question.radius) return std::min(as_real(question.k), as_real(segment.size()) * workload.share);
  const auto& within = segment.statistics.within;
  return within.empty() ? 0 : within[std::min(*question.radius, within.size() - 1)] * workload.share;
}

// What a scan does with codes that are nearer than its threshold of the moment.
double scan_found_cost(const Segment& segment, const Workload& workload) {
  const double found = expected_found(segment, workload);
  double hits = found;
  double filling = 0;
  if (!workload.question.radius) {
    filling = kFillCost * as_real(segment.codes.layout.codes_per_tile());
    // Nearer ones outdo many of the first; not of those within a good guess.
    const bool guesses = likely_distance(segment, workload) < segment.codes.layout.bits;
    hits = guesses ? 1.5 * found : found * (0.5 + 0.4 * std::log((as_real(segment.size()) + 1) / (found + 1)));
  }
  const double tiles = as_real(segment.codes.layout.tiles(segment.size())) + 1;
  return filling + tile_hit_cost(segment.codes.layout) * tiles * (1 - std::exp(-hits / tiles)) + kFoundCost * found;
}

std::size_t queries_per_fetch(std::size_t queries) { return std::clamp<std::size_t>(queries, 1, kQueriesPerFetch); }

// What a scan of all codes costs once for many queries: bringing them from memory.
double shared_scan_cost(const Segment& segment) {
  const double bytes = as_real(segment.codes.layout.bytes(segment.size()));
  return bytes / kLine * fetch_cost(bytes);
}

// A scan that passes over tiles without a code that may be returned.
double filtered_scan_cost(const Segment& segment, const Workload& workload) {
  const CodeLayout& layout = segment.codes.layout;
  const double all = scan_cost(layout, segment.size(), workload.queries);
  if (workload.share >= 1) return all;
  const double wanted = 1 - std::pow(1 - workload.share, as_real(layout.codes_per_tile()));
  const double looks = kTileLookCost / as_real(queries_per_fetch(workload.queries)) + kRunCost * wanted * (1 - wanted);
  return wanted * all + as_real(layout.tiles(segment.size())) * looks;
}

// A scan of the codes that may be returned, after they were put together.
double gathered_scan_cost(const Segment& segment, const Workload& workload) {
  const CodeLayout& layout = segment.codes.layout;
  const double codes = workload.share * as_real(segment.size());
  const double move = kLaneMoveCost + fetch_cost(as_real(layout.bytes(segment.size())));
  const double once = kFilterWordCost * as_real(segment.size()) / 64 + move * codes * as_real(layout.lanes);
  return once / as_real(std::max<std::size_t>(workload.queries, 1)) +
         scan_cost(layout, static_cast<std::size_t>(codes), workload.queries);
}

// What queries cost by the distance of their farthest neighbour: the sum of the steps up to it, until the budget is
// spent and a scan does the rest.
class CostByDistance {
 public:
  CostByDistance(const Segment& segment, const ProbeCosts& costs, std::size_t k, double most_budget)
      : is_whole_(segment.steps.size() > segment.codes.layout.bits) {
    // Of a bucket of equal codes, the first k are looked at.
    const double most = segment.hash_tables.of_whole_codes() ? as_real(k) : as_real(segment.size());
    double sum = 0;
    for (; known_ < segment.steps.size() && sum <= most_budget; ++known_) {
      sums_[known_] = sum += costs.of(segment.steps[known_], most);
    }
    is_whole_ = is_whole_ && known_ == segment.steps.size();
  }

  double at(std::size_t distance, double budget, double scan) const {
    if (is_whole_) distance = std::min(distance, known_ - 1);
    if (distance < known_ && sums_[distance] <= budget) return sums_[distance];
    const auto* beyond = std::upper_bound(sums_.data(), sums_.data() + known_, budget);
    return (beyond == sums_.data() ? 0 : beyond[-1]) + scan;
  }

 private:
  std::array<double, kMostSteps> sums_;
  std::size_t known_ = 0;
  bool is_whole_;  // there are no steps beyond
};

// What is found costs in both plans, but hash tables meet it several times and in no order.
double hash_table_found_cost(const Segment& segment, const ProbeCosts& costs, const Workload& workload) {
  const double found = expected_found(segment, workload);
  double hits = found * (1 + as_real(segment.hash_tables.tables.size()) / 3);
  if (!workload.question.radius && !segment.steps.empty()) {
    // Until k are found, whatever comes is near enough.
    hits = found * (3 + as_real(segment.hash_tables.tables.size()) / 2) + segment.steps.front().candidates / 2;
  }
  return costs.hit * hits + kSortedFoundCost * found * std::log2(found + 2);
}

// Expected nanoseconds for one query on one thread, and how many times as long as a scan takes it is best to try.
struct HashTableCost {
  double cost = 0;
  double patience = 1;
};

HashTableCost nearest_cost(const Segment& segment, const ProbeCosts& costs, const Workload& workload, double scan) {
  // A filter makes the k-th that may be returned as far as a later one of all.
  const double k = as_real(workload.question.k) / std::max(workload.share, 1e-9);
  std::size_t measured = 0;
  while (measured < Statistics::kNeighbours.size() && as_real(Statistics::kNeighbours[measured]) < k) ++measured;
  if (measured == Statistics::kNeighbours.size()) return {2 * scan, 1};
  const auto& upper = segment.statistics.distances[measured];
  const auto& lower = segment.statistics.distances[measured == 0 ? 0 : measured - 1];
  if (upper.empty()) return {2 * scan, 1};
  // Between two numbers of neighbours that were measured, distances grow with the logarithm.
  const double low = measured == 0 ? 1 : as_real(Statistics::kNeighbours[measured - 1]);
  const double high = measured == 0 ? 2 : as_real(Statistics::kNeighbours[measured]);
  const double weight = std::clamp(std::log(k / low) / std::log(high / low), 0.0, 1.0);
  const CostByDistance by_distance(segment, costs, workload.question.k, kPatiences.back() * scan);
  HashTableCost best{std::numeric_limits<double>::infinity(), 1};
  for (const double patience : kPatiences) {
    double sum = 0;
    for (std::size_t i = 0; i < upper.size(); ++i) {
      const auto distance = static_cast<std::size_t>(0.5 + lower[i] + weight * (upper[i] - lower[i]));
      sum += by_distance.at(distance, patience * scan, scan);
    }
    const double mean = sum / as_real(upper.size());
    if (mean < kClearlyBetter * best.cost) best = {mean, patience};
  }
  return best;
}

HashTableCost hash_table_cost(const Segment& segment, const Workload& workload, double scan) {
  const ProbeCosts costs(segment.hash_tables);
  const double found = kQueryCost + hash_table_found_cost(segment, costs, workload);
  const auto& radius = workload.question.radius;
  if (!radius) {
    const HashTableCost steps = nearest_cost(segment, costs, workload, scan);
    return {found + steps.cost, steps.patience};
  }
  // How far it goes is known, so one that takes long is about to end.
  const double patience = kPatiences.back();
  const CostByDistance by_distance(segment, costs, segment.size(), patience * scan);
  return {found + by_distance.at(std::min(*radius, segment.codes.layout.bits), patience * scan, scan), patience};
}

}  // namespace

Workload workload_of(const Segment& segment, const Question& question, std::size_t queries, int threads,
                     std::optional<std::size_t> allowed) {
  const double all = as_real(std::max<std::size_t>(segment.size(), 1));
  const double live = segment.live == nullptr ? 1 : as_real(segment.live_count) / all;
  return {question, queries, threads, live * (allowed ? as_real(*allowed) / all : 1)};
}

std::vector<ProbeStep> expect_steps(const Segment& segment) {
  std::vector<ProbeStep> steps;
  const HashTables& tables = segment.hash_tables;
  const Statistics& statistics = segment.statistics;
  const double most = kForcedFactor * scan_cost(segment.codes.layout, segment.size(), 1) +
                      kForcedLeast;  // more probes are never paid for
  double sum = 0;
  while (!tables.tables.empty() && steps.size() <= tables.code_bits && steps.size() < kMostSteps && sum < most) {
    const std::size_t number = steps.size();
    const HashTable& table = tables.tables[number % tables.tables.size()];
    const double mean = as_real(tables.count) / as_real(table.buckets());
    const double probes = binomial(table.bits, number / tables.tables.size());
    ProbeStep step{probes, probes * (1 - std::exp(-mean)), probes * mean};
    if (number < statistics.step_buckets.size()) {
      step.buckets = statistics.step_buckets[number];
      step.candidates = statistics.step_candidates[number];
    }
    steps.push_back(step);
    sum += probes;
  }
  return steps;
}

double scan_cost(const CodeLayout& layout, std::size_t codes, std::size_t queries) {
  const double bytes = as_real(layout.bytes(codes));
  const std::size_t together = queries_per_fetch(queries);
  const std::size_t by_lookup = queries_by_lookup(layout, codes, together);
  double line = fetch_cost(bytes);
  if (by_lookup > 0)
    line += lookup_line_cost(layout) * as_real((by_lookup + kQueriesPerLookup - 1) / kQueriesPerLookup);
  line += scan_line_cost(layout, together - by_lookup);
  return bytes / kLine * line / as_real(together);
}

std::size_t likely_distance(const Segment& segment, const Workload& workload) {
  const std::size_t longest = segment.codes.layout.bits;
  const double k = as_real(workload.question.k) / std::max(workload.share, 1e-9);
  if (workload.question.radius || workload.question.k < kLeastForGuess) return longest;
  for (std::size_t i = 0; i < Statistics::kNeighbours.size(); ++i) {
    if (as_real(Statistics::kNeighbours[i]) < k) continue;
    const auto& distances = segment.statistics.distances[i];
    return distances.empty() ? longest : *std::max_element(distances.begin(), distances.end());
  }
  return longest;
}

double build_cost(const ScanSource& codes) {
  const std::size_t count = substring_count(codes.layout.bits, codes.count);
  const double longest = as_real(codes.layout.bits) / as_real(count);
  const double buckets = std::exp2(longest) * as_real(count);
  return kPlacement * as_real(codes.count * count) + kBucketMade * buckets +
         kSamplesMeasured * scan_cost(codes.layout, codes.count, 64);
}

Estimate estimate(const Segment& segment, const Workload& workload, Plan wanted) {
  Estimate result;
  const double threads = std::max(workload.threads, 1);
  const double queries = as_real(std::max<std::size_t>(workload.queries, 1));
  const double call = kCallCost / queries;
  const double through = filtered_scan_cost(segment, workload);
  const double gathered = gathered_scan_cost(segment, workload);
  result.gathers = workload.share < 1 && gathered < through && segment.codes.tiles != nullptr;
  const double scan = kQueryCost + (result.gathers ? gathered : through) + scan_found_cost(segment, workload);
  result.scan = call + scan / threads;
  if (!segment.hash_tables.tables.empty()) {
    const HashTableCost expected = hash_table_cost(segment, workload, scan);
    result.hash_tables = call + expected.cost / std::min(threads, queries);
    const double shared = shared_scan_cost(segment) * workload.share;
    const double each = std::max(scan - shared / as_real(queries_per_fetch(workload.queries)), 0.0);
    result.budget = {expected.patience * each, expected.patience * shared, false};
  }
  if (wanted == Plan::automatic) {
    const Plan through_hash_tables = segment.hash_tables.of_whole_codes() ? Plan::bucket : Plan::mih;
    result.plan =
        !segment.hash_tables.tables.empty() && result.hash_tables < result.scan ? through_hash_tables : Plan::scan;
  } else {
    result.plan = wanted;
    result.budget = {kForcedFactor * scan + kForcedLeast, 0, true};
  }
  return result;
}

bool hash_tables_pay(const Segment& segment) {
  if (segment.size() < kLeastForHashTables) return false;
  const Estimate expected = estimate(segment, {{10, {}}, 100, 1, 1}, Plan::automatic);
  const Estimate near = estimate(segment, {{0, 2}, 100, 1, 1}, Plan::automatic);
  return std::min(expected.hash_tables, near.hash_tables) < 0.7 * expected.scan;
}

}  // namespace bdnn
