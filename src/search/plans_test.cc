// Runs under ThreadSanitizer: every plan answers on several threads.
// Every plan against a naive search, on an index with whatever an index can have.
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "base/simd_target.h"
#include "bdnn/index.h"
#include "sanitized.h"
#include "search/search_testing.h"

namespace bdnn {
namespace {

using testing::clustered_codes;
using testing::naive_answer;
using testing::naive_order;

// Slow: lengths, keys, filters, plans and targets meet in so many ways that rare ones take thousands of cases.
constexpr std::size_t kPlanCases = testing::kUnderThreadSanitizer    ? 300
                                   : testing::kUnderAddressSanitizer ? 1000
                                                                     : 10'000;

// One random database with keys, removals perhaps, and what is asked of it.
struct PlanCase {
  std::size_t bits;
  Codes codes;
  std::vector<std::uint64_t> ids;  // of each code
  Codes queries;
  SearchOptions options;
  std::vector<std::uint64_t> allowed;  // ids
  bool filtered = false;
};

std::size_t random_length(Random& random) {
  constexpr std::array<std::size_t, 12> kUsual = {8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024};
  switch (random.below(4)) {
    case 0: return kUsual[random.below(kUsual.size())];
    case 1: return 1 + random.below(16);
    case 2: return 17 + random.below(100);
    default: return 1 + random.below(300);
  }
}

PlanCase random_plan_case(std::uint64_t seed) {
  Random random(seed);
  PlanCase c;
  c.bits = random_length(random);
  const std::size_t count = random.below(20) == 0 ? random.below(3000) : random.below(150);
  const double flip = std::array{0.0, 0.02, 0.1, 0.5}[random.below(4)];
  c.codes = clustered_codes(c.bits, count, flip, random.bits());
  c.queries = clustered_codes(c.bits, 1 + random.below(6), flip, random.bits());
  // Ids out of order and with gaps, or none.
  std::set<std::uint64_t> known;
  const bool given = random.below(2) == 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t id = i;
    while (given && !known.insert(id = random.below(3 * count + 5)).second) continue;
    c.ids.push_back(id);
  }
  c.options.k = 1 + random.below(random.below(2) == 0 ? 12 : count + 10);
  if (random.below(3) == 0) c.options.radius = random.below(std::min<std::size_t>(c.bits + 2, 12));
  c.filtered = random.below(3) == 0;
  const std::size_t one_in = random.below(2) == 0 ? 3 : 40;  // so few that they are put together before a scan
  for (const std::uint64_t id : c.ids) {
    if (random.below(one_in) == 0) c.allowed.push_back(id);
  }
  return c;
}

TEST(SearchPlans, EqualANaiveSearchOnRandomCases) {
  const auto targets = simd_targets();
  std::array<Searcher, 2> searchers = {Searcher(1), Searcher(2)};
  Results results;
  for (std::size_t number = 0; number < kPlanCases; ++number) {
    force_simd_target(targets[number % targets.size()]);
    PlanCase c = random_plan_case(number);
    const IndexOptions with_tables{.tables = IndexOptions::Tables::always, .threads = 1};
    const Index index = Index::build(c.codes, {.ids = c.ids}, with_tables);
    std::vector<std::uint8_t> bitmap;
    for (const std::uint64_t id : c.allowed) {
      bitmap.resize(std::max<std::size_t>(bitmap.size(), id / 8 + 1));
      bitmap[id / 8] |= static_cast<std::uint8_t>(1U << id % 8);
    }
    const Filter filter = number % 2 == 0 ? Filter(index, c.allowed) : Filter::from_bitmap(index, bitmap);
    const std::set<std::uint64_t> allowed(c.allowed.begin(), c.allowed.end());
    std::vector<std::vector<Neighbour>> expected;
    for (std::size_t q = 0; q < c.queries.size(); ++q) {
      const auto order = naive_order(
          c.codes, c.queries[q], [&](std::size_t i) { return c.ids[i]; },
          [&](std::size_t i) { return !c.filtered || allowed.contains(c.ids[i]); });
      expected.push_back(naive_answer(order, c.options));
    }
    for (const Plan plan : {Plan::automatic, Plan::scan, c.bits <= 16 ? Plan::bucket : Plan::mih}) {
      c.options.plan = plan;
      searchers[number / 2 % 2].search(index, c.queries, c.options, results, c.filtered ? &filter : nullptr);
      ASSERT_EQ(results.size(), c.queries.size());
      for (std::size_t q = 0; q < c.queries.size(); ++q) {
        const auto found = results[q];
        ASSERT_EQ(std::vector<Neighbour>(found.begin(), found.end()), expected[q])
            << "case " << number << ", " << c.bits << " bits, " << c.codes.size() << " codes, k " << c.options.k
            << ", plan " << name_of(plan) << ", target " << simd_target();
      }
    }
  }
  force_simd_target("");
}

}  // namespace
}  // namespace bdnn
