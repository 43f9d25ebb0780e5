// search() of codes as they stand: a database that lives as long as the call.
#include "bdnn/search.h"

#include "base/names.h"
#include "search/answer.h"
#include "search/content.h"
#include "search/statistics.h"

namespace bdnn {
namespace {

constexpr std::string_view kPlanNames[] = {"automatic", "scan", "mih", "bucket"};
static_assert(std::size(kPlanNames) == std::size(kAllPlans));

constexpr double kWorthIt = 4;  // times what making hash tables costs

// Hash tables, for this one call: where they are asked for, or where so many queries come that they may pay for
// themselves.
bool want_hash_tables(const std::vector<Segment>& segments, std::size_t queries, const SearchOptions& options) {
  if (segments.size() > 1) return false;
  if (options.plan != Plan::automatic) return options.plan != Plan::scan;
  const ScanSource& codes = segments.front().codes;
  const double scan = scan_cost(codes.layout, codes.count, queries) * static_cast<double>(queries);
  return scan > kWorthIt * build_cost(codes);
}

}  // namespace

std::string_view name_of(Plan plan) { return kPlanNames[static_cast<std::size_t>(plan)]; }

Plan plan_by_name(const std::string& name) { return by_name(kAllPlans, name, "plan of search"); }

PlanEstimate explain(const Codes& database, std::size_t queries, const SearchOptions& options) {
  check_plan(database.bits(), options.plan);
  if (database.size() == 0) return {.text = "no codes: nothing to search\n"};
  const std::vector<Segment> segments = as_segments(database);
  const Workload workload{{options.k, options.radius}, queries, Threads(options.threads).count(), 1};
  PlanEstimate expected;
  for (const Segment& segment : segments) {
    expected.scan_microseconds += estimate(segment, workload, Plan::scan).scan / 1000;
  }
  expected.text = fmt::format("{} codes of {} bits as they stand: ", database.size(), database.bits());
  if (!want_hash_tables(segments, queries, options)) {
    expected.microseconds = expected.scan_microseconds;
    expected.text += fmt::format("scan; expected per query: {:.3g} us\n", expected.microseconds);
    return expected;
  }
  // What hash tables are worth shows when they are made.
  expected.plan = database.bits() <= kMostBucketBits ? Plan::bucket : Plan::mih;
  expected.hash_table_microseconds =
      build_cost(segments.front().codes) / 1000 / static_cast<double>(std::max<std::size_t>(queries, 1));
  expected.microseconds = expected.hash_table_microseconds;
  expected.text += fmt::format(
      "tables are made for these queries, and used where they pay; making them: {:.3g} us per query, a scan: {:.3g} "
      "us\n",
      expected.hash_table_microseconds, expected.scan_microseconds);
  return expected;
}

Results search(const Codes& database, const Codes& queries, const SearchOptions& options) {
  check_question(database.bits(), database.origin(), queries, options);
  Results results;
  if (database.size() == 0) {
    for (std::size_t q = 0; q < queries.size(); ++q) results.append({});
    return results;
  }
  Answerer answerer(options.threads);
  std::vector<Segment> segments = as_segments(database);
  std::vector<BuiltHashTable> built;
  if (want_hash_tables(segments, queries.size(), options)) {
    Segment& segment = segments.front();
    Threads threads(options.threads);
    segment.hash_tables = {database.bits(), database.size(), {}};
    const std::size_t count = substring_count(database.bits(), database.size());
    for (std::size_t j = 0; j < count; ++j) {
      built.push_back(count_buckets(database, substring_of(database.bits(), j, count)));
      fill_hash_table(database, threads, built.back());
      segment.hash_tables.tables.push_back(view_of(built.back()));
    }
    segment.statistics = measure(segment, threads);
    segment.steps = expect_steps(segment);
  }
  answerer.answer(segments, queries, options, nullptr, results);
  return results;
}

}  // namespace bdnn
