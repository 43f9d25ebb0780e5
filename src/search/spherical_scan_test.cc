// Runs under ThreadSanitizer: queries, and parts of the database, are searched on several threads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "bdnn/spherical.h"
#include "codes/spherical_testing.h"
#include "expect_error.h"
#include "search/search_testing.h"

namespace bdnn {
namespace {

using testing::clustered_codes;
using testing::Fraction;
using testing::naive_spherical;

// Bits are set with a probability of their own for each code, so that numbers of set bits vary from none to all.
Codes uneven_codes(std::size_t bits, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  const std::size_t bytes = bytes_for_bits(bits);
  std::vector<std::uint8_t> data(bytes * count);
  for (std::size_t i = 0; i < count; ++i) {
    const double share = random.below(8) == 0 ? 0.0 : random.uniform();
    for (std::size_t b = 0; b < bits; ++b) {
      if (random.uniform() < share) data[i * bytes + b / 8] |= static_cast<std::uint8_t>(1U << b % 8);
    }
  }
  return {bits, count, std::move(data)};
}

std::vector<std::uint64_t> naive_ids(const Codes& database, std::span<const std::uint8_t> query, std::size_t k) {
  std::vector<std::pair<Fraction, std::uint64_t>> all;
  for (std::size_t i = 0; i < database.size(); ++i) {
    all.emplace_back(naive_spherical(database[i], query, database.bits()), i);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < std::min(k, all.size()); ++i) ids.push_back(all[i].second);
  return ids;
}

void expect_answer(const Codes& database, std::span<const std::uint8_t> query, std::size_t k,
                   std::span<const Ranked> found) {
  const auto expected = naive_ids(database, query, k);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].id, expected[i]) << "place " << i;
    const Fraction distance = naive_spherical(database[expected[i]], query, database.bits());
    ASSERT_EQ(found[i].score, static_cast<double>(distance.over) / static_cast<double>(distance.under));
    ASSERT_EQ(found[i].distance, hamming_distance(database[expected[i]], query));
  }
}

TEST(SphericalScan, EqualsANaiveSearchOnRandomCodesOfManyLengths) {
  Random random(1);
  SphericalSearcher searchers[] = {SphericalSearcher(1), SphericalSearcher(2), SphericalSearcher(3)};
  for (int round = 0; round < 300; ++round) {
    constexpr std::size_t kLengths[] = {1,  2,  7,  8,   9,   16,  24,  32,  33,   48,
                                        64, 65, 96, 100, 128, 200, 256, 511, 1000, 4096};
    const std::size_t bits = kLengths[random.below(std::size(kLengths))];
    const std::size_t count = 1 + random.below(bits > 300 ? 60 : 700);
    const Codes database = round % 2 == 0 ? uneven_codes(bits, count, random.bits())
                                          : clustered_codes(bits, count, random.uniform() / 2, random.bits());
    const Codes queries = round % 3 == 0 ? database.slice(0, std::min<std::size_t>(count, 5))
                                         : uneven_codes(bits, 1 + random.below(40), random.bits());
    const std::size_t k = 1 + random.below(round % 5 == 0 ? count + 3 : 12);
    const std::size_t searcher = random.below(3);
    RankedResults results;
    searchers[searcher].search(SphericalScan(database, static_cast<int>(searcher) + 1), queries, k, results);
    ASSERT_EQ(results.size(), queries.size());
    for (std::size_t q = 0; q < queries.size(); ++q) {
      SCOPED_TRACE(fmt::format("round {}, {} bits, {} codes, k {}, query {}", round, bits, count, k, q));
      expect_answer(database, queries[q], k, results[q]);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(SphericalScan, OneQueryIsSplitOverThreads) {
  const Codes database = uneven_codes(24, 200000, 3);
  const Codes queries = uneven_codes(24, 2, 4);
  const SphericalScan scan(database, 2);
  SphericalSearcher searcher(4);
  RankedResults four;
  for (const std::size_t k : {1, 10, 3000, 10}) {
    RankedResults one;
    scan.search(queries.slice(1, 1), k, one, 1);
    searcher.search(scan, queries.slice(1, 1), k, four);
    ASSERT_EQ(std::vector(one[0].begin(), one[0].end()), std::vector(four[0].begin(), four[0].end())) << k;
    expect_answer(database, queries[1], k, four[0]);
  }
}

TEST(SphericalScan, WhatDoesNotFitIsRefused) {
  const Codes database = uneven_codes(12, 10, 1);
  const SphericalScan scan(database);
  EXPECT_EQ(scan.size(), 10U);
  RankedResults results;
  EXPECT_BDNN_ERROR(scan.search(uneven_codes(11, 1, 1), 1, results), misuse, "11");
  EXPECT_BDNN_ERROR(scan.search(database, 0, results), misuse, "at least 1");
  scan.search(database.slice(0, 0), 3, results);
  EXPECT_EQ(results.size(), 0U);
  SphericalScan(database.slice(0, 0)).search(database, 3, results);
  ASSERT_EQ(results.size(), 10U);
  EXPECT_TRUE(results[0].empty());
}

TEST(SphericalRanking, OrdersAShortlistOfCodesOrOfAnIndexAsAScanDoes) {
  const Codes database = uneven_codes(40, 500, 5);
  const Codes queries = uneven_codes(40, 20, 6);
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < database.size(); ++i) ids.push_back(1000 + 7 * i);
  const Index index = Index::build(database, {.ids = ids});
  RankedResults scanned;
  SphericalScan(database).search(queries, 15, scanned);
  const Results shortlists = search(database, queries, {.k = 500});
  Results in_index;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    std::vector<Neighbour> renamed(shortlists[q].begin(), shortlists[q].end());
    for (auto& neighbour : renamed) neighbour.id = ids[neighbour.id];
    in_index.append(renamed);
  }
  RankedResults ranked;
  RankedResults ranked_in_index;
  rerank(shortlists, SphericalRanking(database, queries), 15, 1, ranked);
  rerank(in_index, SphericalRanking(index, queries), 15, 2, ranked_in_index);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    for (std::size_t i = 0; i < 15; ++i) {
      ASSERT_EQ(ranked[q][i], scanned[q][i]);
      ASSERT_EQ(ranked_in_index[q][i].id, ids[scanned[q][i].id]);
      ASSERT_EQ(ranked_in_index[q][i].score, scanned[q][i].score);
    }
  }
  double score = 0;
  const Neighbour unknown[] = {{3, 0}};
  EXPECT_BDNN_ERROR(SphericalRanking(index, queries).score(0, unknown, &score), misuse, "no code to rank id 3 by");
  EXPECT_BDNN_ERROR(SphericalRanking(database, queries).score(20, unknown, &score), misuse, "there are 20");
  EXPECT_BDNN_ERROR(SphericalRanking(database, uneven_codes(41, 1, 1)), misuse, "41");
}

}  // namespace
}  // namespace bdnn
