// Runs under ThreadSanitizer: queries are evaluated on several threads.
#include "bdnn/metrics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "evaluate/metrics_testing.h"
#include "expect_error.h"

namespace bdnn {
namespace {

constexpr Ties kAllTies[] = {Ties::expected, Ties::order, Ties::best, Ties::worst};

MetricsResult evaluate(const Codes& database, const Codes& queries, const Relevance& relevance,
                       const MetricsOptions& options = {}) {
  Progress silent;
  return evaluate_codes(database, queries, relevance, options, silent);
}

// One bit in four is set, so that distances tie often even where there are many.
Codes random_codes(std::size_t bits, std::size_t count, Random& random) {
  const std::size_t bytes = (bits + 7) / 8;
  std::vector<std::uint8_t> data(bytes * count);
  for (std::size_t i = 0; i < count * bits; ++i) {
    const std::size_t b = i % bits;
    if (random.below(4) == 0) data[i / bits * bytes + b / 8] |= static_cast<std::uint8_t>(1U << b % 8);
  }
  return {bits, count, std::move(data)};
}

// Random codes with everything that can be asked about them.
struct Case {
  Codes database;
  Codes queries;
  std::vector<std::int32_t> ids;
  Relevance relevance;
  MetricsOptions options;
};

Case random_case(std::size_t bits, std::size_t count, std::size_t queries, bool labels, bool self, Random& random) {
  Case c{random_codes(bits, count, random), random_codes(bits, queries, random), {}, {}, {}};
  std::vector<std::int64_t> left_out;
  for (std::size_t q = 0; self && q < queries; ++q) {
    left_out.push_back(static_cast<std::int64_t>(random.below(count + 1)) - 1);
  }
  if (labels) {
    std::vector<std::int64_t> database_labels(count), query_labels(queries);
    for (auto& label : database_labels) label = static_cast<std::int64_t>(random.below(3)) - 9;
    for (auto& label : query_labels) label = static_cast<std::int64_t>(random.below(4)) - 9;  // -6 is in no database
    query_labels[0] = database_labels[self && left_out[0] == 0 ? 1 : 0];
    c.relevance = Relevance::labels(std::move(database_labels), std::move(query_labels));
  } else {
    const std::size_t per_query = 1 + random.below(std::min<std::size_t>(count - 1, 60));
    for (std::size_t q = 0; q < queries; ++q) {
      std::vector<std::int32_t> all(count);
      std::iota(all.begin(), all.end(), 0);
      if (self) std::erase(all, static_cast<std::int32_t>(left_out[q]));
      for (std::size_t i = 0; i < per_query; ++i) std::swap(all[i], all[i + random.below(all.size() - i)]);
      c.ids.insert(c.ids.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(per_query));
    }
    c.relevance = Relevance::neighbours(c.ids, per_query);
  }
  c.relevance.self = left_out;
  c.options.cutoff = random.below(2) == 0 ? 0 : 1 + random.below(count + 2);
  c.options.radii = {0, 2, bits + 3};
  c.options.at = {1, 1 + random.below(count - 1), count - 1};
  c.options.curve = true;
  return c;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  RC_ASSERT(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) RC_ASSERT(std::abs(a[i] - b[i]) <= tolerance * std::max(1.0, b[i]));
}

RC_GTEST_PROP(EvaluateProperty, EqualsTheMeanOverAllOrders, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const auto bits = *rc::gen::inRange<std::size_t>(1, 4);
  const auto count = *rc::gen::inRange<std::size_t>(2, 9);
  const auto queries = *rc::gen::inRange<std::size_t>(1, 4);
  Case c = random_case(bits, count, queries, *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>(), random);
  for (const Ties ties : kAllTies) {
    c.options.ties = ties;
    const auto ours = values(evaluate(c.database, c.queries, c.relevance, c.options));
    // The naive mean adds up to 8! numbers, and rounds each time.
    expect_near(ours, naive_values(c.database, c.queries, c.relevance, c.options), 1e-11);
  }
}

RC_GTEST_PROP(EvaluateProperty, EqualsASortOfManyCodes, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const auto bits = *rc::gen::inRange<std::size_t>(1, 70);
  const auto count = *rc::gen::inRange<std::size_t>(2, 5000);
  const auto queries = *rc::gen::inRange<std::size_t>(1, 20);
  Case c = random_case(bits, count, queries, *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>(), random);
  for (const Ties ties : {Ties::order, Ties::best, Ties::worst}) {
    c.options.ties = ties;
    const auto ours = values(evaluate(c.database, c.queries, c.relevance, c.options));
    expect_near(ours, naive_values(c.database, c.queries, c.relevance, c.options), 1e-12);
  }
}

// The code bits[order[0]], bits[order[1]], ... xor flips.
Codes rearranged(const Codes& codes, const std::vector<std::size_t>& order, const std::vector<bool>& flips) {
  std::vector<std::uint8_t> data(codes.size() * codes.bytes_per_code());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (std::size_t b = 0; b < codes.bits(); ++b) {
      const bool bit = ((codes[i][order[b] / 8] >> order[b] % 8) & 1) != static_cast<int>(flips[b]);
      data[i * codes.bytes_per_code() + b / 8] |= static_cast<std::uint8_t>(static_cast<unsigned>(bit) << b % 8);
    }
  }
  return {codes.bits(), codes.size(), std::move(data)};
}

template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

RC_GTEST_PROP(EvaluateProperty, IsBlindToWhatBitsMean, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const auto bits = *rc::gen::inRange<std::size_t>(1, 40);
  Case c = random_case(bits, 100, 5, *rc::gen::arbitrary<bool>(), true, random);
  std::vector<std::size_t> order(bits);
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(order, random);
  std::vector<bool> flips;
  for (std::size_t b = 0; b < bits; ++b) flips.push_back(random.below(2) == 1);
  for (const Ties ties : kAllTies) {
    c.options.ties = ties;
    const auto before = values(evaluate(c.database, c.queries, c.relevance, c.options));
    const Codes database = rearranged(c.database, order, flips);
    RC_ASSERT(values(evaluate(database, rearranged(c.queries, order, flips), c.relevance, c.options)) == before);
  }
}

RC_GTEST_PROP(EvaluateProperty, OnlyOrderDependsOnTheOrderOfTheDatabase, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const auto bits = *rc::gen::inRange<std::size_t>(1, 40);
  const bool labels = *rc::gen::arbitrary<bool>();
  Case c = random_case(bits, 100, 5, labels, true, random);
  std::vector<std::size_t> order(c.database.size());  // order[new position] = old position
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(order, random);
  std::vector<std::uint8_t> data;
  std::vector<std::int64_t> moved(order.size());
  std::vector<std::int64_t> database_labels;
  for (std::size_t i = 0; i < order.size(); ++i) {
    data.insert(data.end(), c.database[order[i]].begin(), c.database[order[i]].end());
    moved[order[i]] = static_cast<std::int64_t>(i);
    if (labels) database_labels.push_back(std::get<Relevance::Labels>(c.relevance.of).database[order[i]]);
  }
  std::vector<std::int32_t> ids;
  for (const std::int32_t id : c.ids) ids.push_back(static_cast<std::int32_t>(moved[static_cast<std::size_t>(id)]));
  Relevance relevance = labels ? Relevance::labels(database_labels, std::get<Relevance::Labels>(c.relevance.of).queries)
                               : Relevance::neighbours(ids, ids.size() / c.queries.size());
  for (const auto id : c.relevance.self) relevance.self.push_back(id < 0 ? -1 : moved[static_cast<std::size_t>(id)]);
  const Codes database(bits, order.size(), std::move(data));
  std::vector<MetricsResult> results;
  for (const Ties ties : {Ties::worst, Ties::expected, Ties::best}) {
    c.options.ties = ties;
    results.push_back(evaluate(c.database, c.queries, c.relevance, c.options));
    RC_ASSERT(values(evaluate(database, c.queries, relevance, c.options)) == values(results.back()));
  }
  c.options.ties = Ties::order;
  results.push_back(evaluate(c.database, c.queries, c.relevance, c.options));
  for (const std::size_t inner : {1, 3}) {
    const auto low = values(results[0]), middle = values(results[inner]), high = values(results[2]);
    for (std::size_t i = 0; i < low.size(); ++i) {
      RC_ASSERT(low[i] <= middle[i] + 1e-14 && middle[i] <= high[i] + 1e-14);
    }
  }
}

TEST(Evaluate, IsTheSameForAnyNumberOfThreads) {
  Random random(1);
  for (const bool labels : {false, true}) {
    Case c = random_case(24, 3000, 100, labels, true, random);
    for (const Ties ties : kAllTies) {
      c.options.ties = ties;
      c.options.threads = 1;
      const auto one = values(evaluate(c.database, c.queries, c.relevance, c.options));
      for (const int threads : {2, 3}) {
        c.options.threads = threads;
        EXPECT_EQ(values(evaluate(c.database, c.queries, c.relevance, c.options)), one);
      }
    }
  }
}

Codes bytes(std::vector<std::uint8_t> data) {
  const std::size_t count = data.size();
  return {8, count, std::move(data)};
}

TEST(Evaluate, ByHand) {
  // From 0: distance 1, 0, 2, 1. Code 3 is the nearest, code 2 the other relevant one.
  const Codes database = bytes({0b1, 0b0, 0b11, 0b100});
  const std::vector<std::int32_t> ids = {3, 2};
  const auto result =
      evaluate(database, bytes({0}), Relevance::neighbours(ids, 2), {.ties = Ties::expected, .radii = {1}, .at = {2}});
  // Code 3 has rank 2 or 3, code 2 has rank 4: ((1/2 + 1/3) / 2 + 2/4) / 2.
  EXPECT_DOUBLE_EQ(result.mean_average_precision, (5.0 / 12 + 1.0 / 2) / 2);
  EXPECT_DOUBLE_EQ(result.radii[0].precision, 1.0 / 3);
  EXPECT_DOUBLE_EQ(result.radii[0].recall, 1.0 / 2);
  EXPECT_EQ(result.radii[0].looked_at, 3);
  EXPECT_DOUBLE_EQ(result.ranks[0].precision, 0.5 / 2);
  EXPECT_DOUBLE_EQ(*result.ranks[0].nearest, 0.5);
  EXPECT_EQ(result.database, 4U);
  EXPECT_EQ(result.bits, 8U);
}

TEST(Evaluate, NothingRelevantCountsAsZero) {
  const Codes database = bytes({0, 1, 3});
  const auto result =
      evaluate(database, bytes({0, 0}), Relevance::labels({5, 6, 6}, {5, 7}), {.radii = {0}, .at = {1}});
  EXPECT_EQ(result.queries_without_relevant, 1U);
  EXPECT_DOUBLE_EQ(result.mean_average_precision, 0.5);
  EXPECT_DOUBLE_EQ(result.ranks[0].recall, 0.5);
  EXPECT_FALSE(result.ranks[0].nearest.has_value());
  const auto far = evaluate(database, bytes({255, 0}), Relevance::labels({5, 6, 6}, {5, 5}), {.radii = {1}});
  EXPECT_DOUBLE_EQ(far.radii[0].empty, 0.5);
  EXPECT_DOUBLE_EQ(far.radii[0].precision, 0.25);  // 0 and 1/2
}

TEST(Evaluate, TellsItsProgress) {
  struct Last : Progress {
    void update(std::string_view, std::size_t d, std::size_t t) override { done = d, total = t; }
    std::size_t done = 0, total = 0;
  } last;
  const Codes codes = bytes(std::vector<std::uint8_t>(37, 1));
  evaluate_codes(codes, codes, Relevance::labels(std::vector<std::int64_t>(37), std::vector<std::int64_t>(37)), {},
                 last);
  EXPECT_EQ(last.done, 37U);
  EXPECT_EQ(last.total, 37U);
}

TEST(Evaluate, WhatDoesNotFitTogetherIsRefused) {
  const Codes three = bytes({0, 1, 2});
  const Codes two = bytes({0, 1});
  const std::vector<std::int32_t> ids = {0, 1, 1, 2};
  const auto lists = Relevance::neighbours(ids, 2);
  EXPECT_BDNN_ERROR(evaluate(three, bytes({}), lists), misuse, "there are no queries");
  EXPECT_BDNN_ERROR(evaluate(bytes({}), two, lists), misuse, "database of codes is empty");
  // More than can be evaluated, and never read.
  const std::shared_ptr<const std::uint8_t> somewhere = std::make_shared<std::uint8_t>();
  EXPECT_BDNN_ERROR(evaluate(Codes(8, std::size_t{1} << 33, somewhere), two, lists), misuse, "at most 4294967295");
  EXPECT_BDNN_ERROR(evaluate(three, Codes(16, 1, std::vector<std::uint8_t>(2)), lists), misuse,
                    "the queries have 16 bits, the database has 8");
  EXPECT_BDNN_ERROR(evaluate(Codes(8, 1, {1}, {"aaaa", "itq"}), Codes(8, 1, {1}, {"bbbb", "itq"}), lists), misuse,
                    "encoded by model aaaa, the queries by bbbb");
  EXPECT_BDNN_ERROR(evaluate(three, two, Relevance::neighbours(ids, 0)), misuse, "0 entries per query");
  EXPECT_BDNN_ERROR(evaluate(three, two, Relevance::neighbours(ids, 3)), misuse,
                    "4 neighbours were given for 2 queries of 3 each; give 6");
  EXPECT_BDNN_ERROR(evaluate(two, two, lists), misuse,
                    "neighbour 1 of query 1 is code 2, but the database has codes 0 to 1");
  const std::vector<std::int32_t> negative = {0, -1};
  EXPECT_BDNN_ERROR(evaluate(three, two, Relevance::neighbours(negative, 1)), misuse, "is code -1");
  const std::vector<std::int32_t> twice = {0, 1, 2, 2};
  EXPECT_BDNN_ERROR(evaluate(three, two, Relevance::neighbours(twice, 2)), misuse,
                    "code 2 is twice among the neighbours of query 1");
  EXPECT_BDNN_ERROR(evaluate(three, two, Relevance::labels({1, 2}, {1, 2})), misuse,
                    "2 labels were given for a database of 3 codes");
  EXPECT_BDNN_ERROR(evaluate(three, two, Relevance::labels({1, 2, 3}, {1})), misuse,
                    "1 labels were given for 2 queries");
  EXPECT_BDNN_ERROR(evaluate(three, two, Relevance::labels({1, 2, 3}, {4, 5})), misuse, "none of the 2 queries");
  EXPECT_BDNN_ERROR(evaluate(three, two, lists, {.at = {4}}), misuse,
                    "first 4 is not possible: only 3 codes are ranked");
  EXPECT_BDNN_ERROR(evaluate(three, two, lists, {.at = {0}}), misuse, "at least the first 1");
  EXPECT_NO_THROW(evaluate(three, two, lists, {.cutoff = 99, .radii = {99}, .at = {3}}));

  auto self = Relevance::labels({1, 2, 3}, {1, 2});
  self.self = {0};
  EXPECT_BDNN_ERROR(evaluate(three, two, self), misuse, "are given for 1 queries, but there are 2");
  self.self = {0, 3};
  EXPECT_BDNN_ERROR(evaluate(three, two, self), misuse, "query 1 leaves out code 3, but the database has codes 0 to 2");
  self.self = {-2, 0};
  EXPECT_BDNN_ERROR(evaluate(three, two, self), misuse, "leaves out code -2");
  self.self = {0, 1};
  EXPECT_BDNN_ERROR(evaluate(three, two, self), misuse, "none of the 2 queries");
  self.self = {0, -1};
  EXPECT_BDNN_ERROR(evaluate(three, two, self, {.at = {3}}), misuse, "only 2 codes are ranked");
  auto listed = lists;
  listed.self = {2, 1};
  EXPECT_BDNN_ERROR(evaluate(three, two, listed), misuse, "query 1 leaves out code 1, which is among its neighbours");
}

// Two codes without a label are not of one class.
TEST(Metrics, WhatHasNoLabelIsRelevantToNothing) {
  const Codes database(8, 3, std::vector<std::uint8_t>{0, 1, 3});
  const Codes queries(8, 2, std::vector<std::uint8_t>{0, 0});
  const auto result = evaluate(database, queries, Relevance::labels({-1, 7, -1}, {-1, 7}));
  EXPECT_EQ(result.queries_without_relevant, 1U);
  // Of the two queries one finds its only relevant code in the second place.
  EXPECT_DOUBLE_EQ(result.mean_average_precision, 0.25);
}

}  // namespace
}  // namespace bdnn
