#include "search/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.h"
#include "search/content.h"
#include "search/search_testing.h"

namespace bdnn {
namespace {

using testing::clustered_codes;
using testing::naive_answer;
using testing::naive_order;

const IndexOptions kWithTables{.tables = IndexOptions::Tables::always, .threads = 1};

// What the planner expects follows the question; no time is measured here.
TEST(SearchPlanner, ExpectsMoreOfHarderQuestions) {
  for (const std::size_t bits : {16, 32, 64, 128}) {
    const Index index = Index::build(clustered_codes(bits, 50'000, 0.5, 1), {}, kWithTables);
    const Searcher searcher(1);
    double before = 0;
    for (const std::size_t radius : {0, 2, 4}) {
      const double tables = searcher.explain(index, 100, {.radius = radius}).hash_table_microseconds;
      EXPECT_GT(tables, before) << bits << " bits, radius " << radius;
      before = tables;
    }
    EXPECT_LE(searcher.explain(index, 100, {.k = 1}).scan_microseconds,
              searcher.explain(index, 100, {.k = 10}).scan_microseconds);
    EXPECT_LT(searcher.explain(index, 100, {.k = 10}).scan_microseconds,
              searcher.explain(index, 1, {.k = 10}).scan_microseconds);
  }
}

TEST(SearchPlanner, TakesTheClearlyBetterPlan) {
  const Index random = Index::build(clustered_codes(64, 50'000, 0.5, 1), {}, kWithTables);
  const Searcher searcher(1);
  EXPECT_EQ(searcher.explain(random, 100, {.radius = 1}).plan, Plan::mih);
  EXPECT_EQ(searcher.explain(random, 100, {.k = 100}).plan, Plan::scan);
  // Half of all codes are within this radius: there is nothing to be gained by hash tables.
  const Index short_codes = Index::build(clustered_codes(16, 50'000, 0.5, 1), {}, kWithTables);
  EXPECT_EQ(searcher.explain(short_codes, 100, {.radius = 8}).plan, Plan::scan);
  EXPECT_EQ(searcher.explain(short_codes, 100, {.k = 1}).plan, Plan::bucket);
}

TEST(SearchPlanner, FewAllowedCodesArePutTogether) {
  const std::size_t count = 60'000;
  for (const std::size_t bits : {24, 64, 200}) {
    const Codes codes = clustered_codes(bits, count, 0.3, bits);
    const Codes queries = clustered_codes(bits, 3, 0.3, bits + 1);
    const Index index = Index::build(codes, {}, {.tables = IndexOptions::Tables::never});
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = 7; id < count; id += 500) ids.push_back(id);
    ids.push_back(7);  // twice, and one that is not there
    ids.push_back(count);
    const Filter few(index, ids);
    EXPECT_EQ(few.count(0), ids.size() - 2);
    Searcher searcher(2);
    EXPECT_THAT(searcher.explain(index, 3, {.k = 5}, &few).text, ::testing::HasSubstr("of the allowed, put together"));
    EXPECT_THAT(searcher.explain(index, 3, {.k = 5}).text, ::testing::Not(::testing::HasSubstr("allowed")));
    EXPECT_LT(searcher.explain(index, 3, {.k = 5}, &few).microseconds,
              searcher.explain(index, 3, {.k = 5}).microseconds);
    for (const SearchOptions& options :
         {SearchOptions{.k = 5}, SearchOptions{.k = 1000}, SearchOptions{.radius = bits / 3}}) {
      Results results;
      searcher.search(index, queries, options, results, &few);
      for (std::size_t q = 0; q < queries.size(); ++q) {
        const auto order = naive_order(
            codes, queries[q], [](std::size_t i) { return i; }, [](std::size_t i) { return i % 500 == 7; });
        EXPECT_EQ(std::vector<Neighbour>(results[q].begin(), results[q].end()), naive_answer(order, options));
      }
    }
  }
}

TEST(SearchPlanner, AFilterOfAnotherIndexIsRefused) {
  const Codes codes = clustered_codes(16, 100, 0.3, 1);
  const Index index = Index::build(codes);
  const Filter other(Index::build(codes), std::vector<std::uint64_t>{1});
  EXPECT_BDNN_ERROR(Searcher(1).explain(index, 1, {}, &other), misuse, "made for another index");
}

}  // namespace
}  // namespace bdnn
