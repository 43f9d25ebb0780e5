// Runs under ThreadSanitizer: shortlists are ranked on several threads.
#include "bdnn/rerank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "data/convert.h"
#include "data/format.h"
#include "expect_error.h"
#include "search/search_testing.h"
#include "temporary_directory.h"

namespace bdnn {
namespace {

using testing::clustered_codes;
using testing::TemporaryDirectory;

std::vector<float> whole_numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (auto& value : values) value = static_cast<float>(random.below(20));
  return values;
}

void save(const std::string& path, std::size_t dimension, const std::vector<float>& values, Element element) {
  const std::size_t count = values.size() / dimension;
  const auto writer = format_for_writing(path).create({path, {dimension, count, element}, ""});
  std::vector<std::byte> bytes(values.size() * size_of(element));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto small = static_cast<std::uint8_t>(values[i]);
    if (element == Element::u8) std::memcpy(&bytes[i], &small, 1);
    if (element == Element::f32) std::memcpy(&bytes[4 * i], &values[i], 4);
  }
  writer->write(count, bytes.data());
  writer->finish();
}

TEST(Rerank, EqualsASortByTheDistanceOfTheVectors) {
  const TemporaryDirectory folder;
  constexpr std::size_t kCount = 300;
  for (const std::size_t dimension : {1, 5, 8, 19}) {
    const auto base = whole_numbers(kCount * dimension, dimension);
    const auto query = whole_numbers(4 * dimension, dimension + 1);
    const Codes codes = clustered_codes(16, kCount, 0.3, 1);
    const Codes query_codes = clustered_codes(16, 4, 0.3, 2);
    Results shortlists;
    Searcher(1).search(Index::build(codes), query_codes, {.k = 50}, shortlists);
    std::vector<std::vector<Ranked>> expected;
    for (std::size_t q = 0; q < 4; ++q) {
      auto& row = expected.emplace_back();
      for (const auto& [id, distance] : shortlists[q]) {
        double score = 0;
        for (std::size_t i = 0; i < dimension; ++i) {
          const double difference = base[id * dimension + i] - query[q * dimension + i];
          score += difference * difference;
        }
        row.push_back({id, score, distance});
      }
      std::sort(row.begin(), row.end(),
                [](const Ranked& a, const Ranked& b) { return a.score != b.score ? a.score < b.score : a.id < b.id; });
      row.resize(10);
    }
    for (const auto& [name, element] : {std::pair("b.fvecs", Element::f32), std::pair("b.bvecs", Element::u8),
                                        std::pair("f.npy", Element::f32), std::pair("u.npy", Element::u8)}) {
      save(folder / name, dimension, base, element);
      const VectorRanking ranking(folder / name, Vectors(dimension, 4, query));
      const VectorRanking in_memory(load_vectors(folder / name), Vectors(dimension, 4, query));
      for (const int threads : {1, 2}) {
        RankedResults ranked;
        rerank(shortlists, threads == 1 ? ranking : in_memory, 10, threads, ranked);
        for (std::size_t q = 0; q < 4; ++q) {
          EXPECT_EQ(std::vector<Ranked>(ranked[q].begin(), ranked[q].end()), expected[q]) << name;
        }
      }
    }
  }
}

// Any other judge can be put in the place of the vectors.
TEST(Rerank, TakesOtherRankings) {
  class Backwards final : public Ranking {
   public:
    void score(std::size_t, std::span<const Neighbour> shortlist, double* scores) const override {
      for (std::size_t i = 0; i < shortlist.size(); ++i) scores[i] = -static_cast<double>(shortlist[i].id);
    }
  };
  Results shortlists;
  shortlists.append(std::vector<Neighbour>{{3, 0}, {9, 1}, {4, 1}});
  RankedResults ranked;
  rerank(shortlists, Backwards(), 2, 1, ranked);
  ASSERT_EQ(ranked[0].size(), 2U);
  EXPECT_EQ(ranked[0][0].id, 9U);
  EXPECT_EQ(ranked[0][1].id, 4U);
}

TEST(Rerank, WhatDoesNotFitIsRefused) {
  const TemporaryDirectory folder;
  save(folder / "b.fvecs", 3, whole_numbers(30, 1), Element::f32);
  EXPECT_BDNN_ERROR(VectorRanking(folder / "b.fvecs", Vectors(4, 1, whole_numbers(4, 1))), misuse, "dimension 3");
  save(folder / "b.csv", 3, whole_numbers(30, 1), Element::f32);
  EXPECT_BDNN_ERROR(VectorRanking(folder / "b.csv", Vectors(3, 1, whole_numbers(3, 1))), misuse,
                    "convert it to .fvecs");
  const VectorRanking ranking(folder / "b.fvecs", Vectors(3, 1, whole_numbers(3, 1)));
  Results shortlists;
  shortlists.append(std::vector<Neighbour>{{10, 0}});
  RankedResults ranked;
  EXPECT_BDNN_ERROR(rerank(shortlists, ranking, 1, 1, ranked), misuse, "has 10 vectors, none for id 10");
}

}  // namespace
}  // namespace bdnn
