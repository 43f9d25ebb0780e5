// Runs under ThreadSanitizer: parts of the codes, and queries, go to several threads.
#include "bdnn/search.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "expect_error.h"
#include "sanitized.h"
#include "search/answer.h"
#include "search/search_testing.h"

namespace bdnn {
namespace {

using testing::clustered_codes;
using testing::naive_answer;
using testing::naive_order;

RC_GTEST_PROP(SearchProperty, EqualsASortOfAllDistances, ()) {
  const auto bits = static_cast<std::size_t>(*rc::gen::inRange(1, 140));
  const auto count = static_cast<std::size_t>(*rc::gen::inRange(1, 6000));
  const auto k = static_cast<std::size_t>(*rc::gen::inRange(1, 200));
  const auto radius = static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(bits) + 2));
  const Codes database = clustered_codes(bits, count, 0.125, 1);
  const Codes queries = clustered_codes(bits, 6, 0.125, 2);  // four that share loads, and two that do not
  const SearchOptions nearest{.k = k, .threads = 2};
  const SearchOptions within{.radius = radius, .threads = 1};
  Results nearest_expected;
  Results within_expected;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const auto order = naive_order(database, queries[q]);
    nearest_expected.append(naive_answer(order, nearest));
    within_expected.append(naive_answer(order, within));
  }
  RC_ASSERT(search(database, queries, nearest) == nearest_expected);
  RC_ASSERT(search(database, queries, within) == within_expected);
}

// So many codes that they are split over threads and blocks, and so many queries that hash tables may pay.
// Slow: hash tables are built anew for each of the searches.
constexpr std::size_t kManyCodes = testing::kUnderThreadSanitizer || testing::kUnderAddressSanitizer ? 60'000 : 300'000;

TEST(Search, PlansAndThreadsChangeNothing) {
  for (const std::size_t bits : {12, 16, 24, 32, 64, 100}) {
    const Codes database = clustered_codes(bits, kManyCodes, 0.2, bits);
    for (const std::size_t count : {1, 3, 40}) {
      const Codes queries = clustered_codes(bits, count, 0.2, bits + 1);
      const auto expected = search(database, queries, {.k = 25, .threads = 1, .plan = Plan::scan});
      for (const int threads : {1, 2, 3}) {
        const Plan tables = bits <= 16 ? Plan::bucket : Plan::mih;
        for (const Plan plan : {Plan::automatic, Plan::scan, tables}) {
          EXPECT_EQ(search(database, queries, {.k = 25, .threads = threads, .plan = plan}), expected)
              << bits << " bits, " << count << " queries, " << threads << " threads, " << name_of(plan);
        }
      }
      const std::vector<Neighbour> first(expected[0].begin(), expected[0].end());
      EXPECT_EQ(first, naive_answer(naive_order(database, queries[0]), {.k = 25}));
    }
  }
}

// Rows have 32 bits: what is more is searched in pieces, here small ones.
TEST(Search, CodesBeyondTheRowsOfASegmentAreFound) {
  for (const std::size_t bits : {8, 32, 70}) {
    const Codes database = clustered_codes(bits, 3500, 0.2, bits);
    const Codes queries = clustered_codes(bits, 5, 0.2, bits + 1);
    const auto segments = as_segments(database, 1024);
    ASSERT_EQ(segments.size(), 4U);
    for (const SearchOptions& options : {SearchOptions{.k = 30}, SearchOptions{.radius = bits / 8}}) {
      Results results;
      Answerer(2).answer(segments, queries, options, nullptr, results);
      for (std::size_t q = 0; q < queries.size(); ++q) {
        const std::vector<Neighbour> found(results[q].begin(), results[q].end());
        EXPECT_EQ(found, naive_answer(naive_order(database, queries[q]), options));
      }
    }
  }
}

TEST(Search, FewerThanKIsAShorterList) {
  const Codes database = clustered_codes(16, 3, 0.125, 3);
  const Results three = search(database, database, {.k = 10});
  EXPECT_EQ(three[0].size(), 3U);
  const Results none = search(Codes(16, 0, std::vector<std::uint8_t>()), database, {.k = 10});
  EXPECT_TRUE(none[0].empty());
}

TEST(Search, WhatCannotBeComparedIsRefused) {
  const Codes a = clustered_codes(16, 3, 0.125, 4);
  const Codes b = clustered_codes(24, 3, 0.125, 4);
  EXPECT_BDNN_ERROR(search(a, b), misuse, "the queries have 24 bits, the database has 16");
  EXPECT_BDNN_ERROR(search(a, a, {.k = 0}), misuse, "ask for at least 1");
  const Codes one(8, 1, std::vector<std::uint8_t>{1}, {"aaaa", "itq"});
  const Codes two(8, 1, std::vector<std::uint8_t>{1}, {"bbbb", "itq"});
  EXPECT_BDNN_ERROR(search(one, two), misuse, "encoded by model aaaa, the queries by bbbb");
  EXPECT_BDNN_ERROR(search(a, a, {.plan = Plan::mih}), misuse, "use the plan 'bucket'");
  EXPECT_BDNN_ERROR(search(b, b, {.plan = Plan::bucket}), misuse, "use the plan 'mih'");
  EXPECT_BDNN_ERROR(plan_by_name("fast"), misuse, "choose automatic, scan, mih or bucket");
}

}  // namespace
}  // namespace bdnn
