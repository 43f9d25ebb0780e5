// Runs under ThreadSanitizer: queries are ranked on several threads.
// Where a decoder is the identity and queries are codes, every score is a multiple of the Hamming distance, so all that
// is known of evaluate_codes() must hold for evaluate_scores().
#include <gtest/gtest.h>

#include "base/random.h"
#include "bdnn/metrics.h"
#include "expect_error.h"

namespace bdnn {
namespace {

constexpr std::size_t kBits = 11;

Layer identity() {
  Layer layer{kBits, kBits, std::vector<float>(kBits * kBits), std::vector<float>(kBits)};
  for (std::size_t k = 0; k < kBits; ++k) layer.weight[k * kBits + k] = 1;
  return layer;
}

Codes random_codes(std::size_t count, Random& random) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(random.bits()));
    bytes.push_back(static_cast<std::uint8_t>(random.below(8)));
  }
  return {kBits, count, std::move(bytes)};
}

Vectors signs_of(const Codes& codes) {
  std::vector<float> values;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (std::size_t k = 0; k < kBits; ++k) values.push_back((codes[i][k / 8] >> (k % 8) & 1) != 0 ? 1.0F : -1.0F);
  }
  return {kBits, codes.size(), std::move(values)};
}

void expect_equal(const MetricsResult& a, const MetricsResult& b) {
  EXPECT_NEAR(a.mean_average_precision, b.mean_average_precision, 1e-12);
  EXPECT_NEAR(a.mean_average_precision_trapezoid, b.mean_average_precision_trapezoid, 1e-12);
  EXPECT_EQ(a.queries_without_relevant, b.queries_without_relevant);
  ASSERT_EQ(a.ranks.size(), b.ranks.size());
  for (std::size_t i = 0; i < a.ranks.size(); ++i) {
    EXPECT_NEAR(a.ranks[i].precision, b.ranks[i].precision, 1e-12);
    EXPECT_NEAR(a.ranks[i].recall, b.ranks[i].recall, 1e-12);
    ASSERT_EQ(a.ranks[i].nearest.has_value(), b.ranks[i].nearest.has_value());
    EXPECT_NEAR(a.ranks[i].nearest.value_or(0), b.ranks[i].nearest.value_or(0), 1e-12);
  }
}

TEST(EvaluateScores, EqualsTheRankingByHammingDistanceWhereTheScoresAreItsMultiples) {
  Random random(4);
  Progress silent;
  const Model model{Network{{identity()}}, Decoder{identity()}};
  for (int round = 0; round < 60; ++round) {
    const std::size_t count = 30 + random.below(2500);
    const std::size_t query_count = 1 + random.below(40);
    const Codes database = random_codes(count, random);
    const Codes queries = random_codes(query_count, random);
    std::vector<std::int32_t> ids;
    Relevance relevance = Relevance::neighbours({}, 0);
    if (round % 2 == 0) {
      const std::size_t per_query = 1 + random.below(20);
      for (std::size_t q = 0; q < query_count; ++q) {
        const std::size_t first = random.below(count);
        for (std::size_t i = 0; i < per_query; ++i) ids.push_back(static_cast<std::int32_t>((first + i) % count));
      }
      relevance = Relevance::neighbours(ids, per_query);
    } else {
      std::vector<std::int64_t> labels(count);
      std::vector<std::int64_t> query_labels(query_count);
      for (auto& label : labels) label = static_cast<std::int64_t>(random.below(5));
      for (auto& label : query_labels) label = static_cast<std::int64_t>(random.below(6));
      query_labels[0] = labels[1];
      relevance = Relevance::labels(labels, query_labels);
      if (round % 4 == 1) relevance.self.assign(query_count, 0);
    }
    for (const Ties ties : {Ties::expected, Ties::best, Ties::worst}) {
      MetricsOptions options{.ties = ties, .radii = {}, .at = {1, 10}, .threads = 1 + round % 3};
      if (round % 5 == 0) options.cutoff = 20;
      const MetricsResult expected = evaluate_codes(database, queries, relevance, options, silent);
      for (const RankBy by : {RankBy::asymmetric, RankBy::reconstruction}) {
        expect_equal(evaluate_scores(model, by, database, signs_of(queries), relevance, options, silent), expected);
      }
    }
  }
}

TEST(EvaluateScores, WhatDoesNotFitIsRefused) {
  Random random(5);
  Progress silent;
  const Model model{Network{{identity()}}, Decoder{identity()}};
  const Codes database = random_codes(10, random);
  const std::vector<std::int32_t> ids = {1, 2};
  const Relevance relevance = Relevance::neighbours(ids, 1);
  const Vectors queries = signs_of(random_codes(2, random));
  const auto evaluate = [&](const Codes& codes, const Vectors& vectors, const MetricsOptions& options) {
    evaluate_scores(model, RankBy::reconstruction, codes, vectors, relevance, options, silent);
  };
  EXPECT_BDNN_ERROR(evaluate(database, queries, {.ties = Ties::order}), misuse, "their position in the database");
  EXPECT_BDNN_ERROR(evaluate(Codes(3, 1, {1}), queries, {}), misuse, "the model's have 11");
  EXPECT_BDNN_ERROR(evaluate(database, Vectors(3, 2, std::vector<float>(6)), {}), misuse, "have dimension 3");
  EXPECT_BDNN_ERROR(evaluate(database, queries.slice(0, 0), {}), misuse, "there are no queries");
}

}  // namespace
}  // namespace bdnn
