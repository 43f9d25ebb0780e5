// Runs under ThreadSanitizer: queries are ranked on several threads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "bdnn/metrics.h"
#include "codes/spherical_testing.h"
#include "evaluate/metrics_testing.h"
#include "expect_error.h"

namespace bdnn {
namespace {

using testing::Fraction;
using testing::naive_spherical;

Codes uneven_codes(std::size_t bits, std::size_t count, Random& random) {
  const std::size_t bytes = bytes_for_bits(bits);
  std::vector<std::uint8_t> data(bytes * count);
  for (std::size_t i = 0; i < count; ++i) {
    const double share = random.below(6) == 0 ? 0.0 : random.uniform();
    for (std::size_t b = 0; b < bits; ++b) {
      if (random.uniform() < share) data[i * bytes + b / 8] |= static_cast<std::uint8_t>(1U << b % 8);
    }
  }
  return {bits, count, std::move(data)};
}

// Items whose distance is the place of their spherical distance among all that occur.
std::vector<std::vector<Item>> naive_rankings(const Codes& database, const Codes& queries, const Relevance& relevance) {
  std::vector<std::vector<Item>> rankings;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    std::vector<Item> items = items_of(database, queries, relevance, q);
    std::vector<Fraction> distances;
    for (const Item& item : items) distances.push_back(naive_spherical(database[item.id], queries[q], database.bits()));
    std::vector<Fraction> sorted = distances;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i].distance =
          static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), distances[i]) - sorted.begin());
    }
    rankings.push_back(std::move(items));
  }
  return rankings;
}

Relevance random_relevance(std::size_t count, std::size_t query_count, bool lists, std::vector<std::int32_t>& ids,
                           Random& random) {
  if (lists) {
    const std::size_t per_query = 1 + random.below(std::min<std::size_t>(count, 5));
    ids.clear();
    for (std::size_t q = 0; q < query_count; ++q) {
      const std::size_t first = random.below(count);
      for (std::size_t i = 0; i < per_query; ++i) ids.push_back(static_cast<std::int32_t>((first + i) % count));
    }
    return Relevance::neighbours(ids, per_query);
  }
  std::vector<std::int64_t> labels(count);
  std::vector<std::int64_t> query_labels(query_count);
  for (auto& label : labels) label = static_cast<std::int64_t>(random.below(3));
  for (auto& label : query_labels) label = static_cast<std::int64_t>(random.below(4));
  query_labels[0] = labels[count - 1];
  Relevance relevance = Relevance::labels(labels, query_labels);
  if (random.below(2) == 0) relevance.self.assign(query_count, static_cast<std::int64_t>(random.below(count - 1)));
  return relevance;
}

void expect_equal(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-9) << i;
}

TEST(EvaluateSpherical, EqualsANaiveRankingUnderEveryRuleForTies) {
  Random random(1);
  Progress silent;
  std::vector<std::int32_t> ids;
  for (int round = 0; round < 400; ++round) {
    constexpr std::size_t kLengths[] = {1, 3, 6, 8, 13, 32, 40, 64, 100, 300};
    const std::size_t bits = kLengths[random.below(std::size(kLengths))];
    const bool every_order = round % 2 == 0;
    // Every order of the ties is tried: few codes. Else many, so that the table of levels is used.
    const std::size_t count = every_order ? 2 + random.below(5) : 20 + random.below(600);
    const std::size_t query_count = 1 + random.below(20);
    const Codes database = uneven_codes(bits, count, random);
    const Codes queries = uneven_codes(bits, query_count, random);
    const Relevance relevance = random_relevance(count, query_count, random.below(2) == 0, ids, random);
    for (const Ties ties : kAllTies) {
      if (ties == Ties::expected && !every_order) continue;
      MetricsOptions options{.ties = ties, .radii = {}, .at = {1}, .threads = 1 + round % 3};
      if (random.below(3) == 0) options.cutoff = 1 + random.below(count);
      const auto result = evaluate_codes(database, queries, relevance, options, silent, RankBy::spherical);
      SCOPED_TRACE(fmt::format("round {}, {} bits, {} codes, ties {}", round, bits, count, name_of(ties)));
      expect_equal(values(result), naive_values(naive_rankings(database, queries, relevance), bits, options));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(EvaluateSpherical, IsTheHammingRankingWhereEveryCodeHasAsManyBitsSet) {
  Random random(2);
  Progress silent;
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 500; ++i) {  // bit i and its opposite
    for (int byte = 0; byte < 3; ++byte) {
      const auto low = static_cast<unsigned>(random.below(16));
      bytes.push_back(static_cast<std::uint8_t>(low | (~low & 15U) << 4));
    }
  }
  const Codes codes(24, 500, bytes);
  std::vector<std::int32_t> ids;
  const Relevance relevance = random_relevance(480, 20, true, ids, random);
  for (const Ties ties : kAllTies) {
    const MetricsOptions options{.ties = ties, .radii = {}, .at = {1, 10, 100}};
    expect_equal(values(evaluate_codes(codes.slice(0, 480), codes.slice(480, 20), relevance, options, silent,
                                       RankBy::spherical)),
                 values(evaluate_codes(codes.slice(0, 480), codes.slice(480, 20), relevance, options, silent)));
  }
}

TEST(EvaluateSpherical, RadiiDoNotApply) {
  Random random(3);
  Progress silent;
  const Codes codes = uneven_codes(9, 30, random);
  std::vector<std::int32_t> ids;
  const Relevance relevance = random_relevance(30, 30, true, ids, random);
  const auto result = evaluate_codes(codes, codes, relevance, {.radii = {2}, .curve = true}, silent, RankBy::spherical);
  EXPECT_TRUE(result.radii.empty());
  EXPECT_TRUE(result.curve.empty());
  EXPECT_BDNN_ERROR(evaluate_codes(codes, codes, relevance, {}, silent, RankBy::asymmetric), misuse, "needs vectors");
}

}  // namespace
}  // namespace bdnn
