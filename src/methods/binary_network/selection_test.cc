#include "methods/binary_network/selection.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"

namespace bdnn {
namespace {

struct Held {
  Vectors x;
  std::vector<std::int64_t> labels;
  HeldOut rows;
};

// Random points of three classes; every third is unlabelled if asked for.
Held held(std::size_t count, std::size_t queries, bool some_unlabelled) {
  Random random(7);
  std::vector<float> values(4 * count);
  for (float& value : values) value = static_cast<float>(random.normal());
  Held data{Vectors(4, count, std::move(values)), {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    data.labels.push_back(some_unlabelled && i % 3 == 0 ? -1 : static_cast<std::int64_t>(random.below(3)));
    (i < queries ? data.rows.queries : data.rows.training).push_back(static_cast<std::uint32_t>(i));
  }
  return data;
}

TargetCodes random_codes(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  TargetCodes codes(8, count);
  for (auto& byte : codes.bytes()) byte = static_cast<std::uint8_t>(random.below(256));
  return codes;
}

TEST(Selection, PartsOfEqualSizeHaveTheWholeScoreAsTheirMean) {
  for (const bool labels : {true, false}) {
    for (const bool some_unlabelled : {false, true}) {
      const Held data = held(300, 60, some_unlabelled);  // 60 or 40 are asked for, both multiples of 20
      Progress silent;
      const Selection selection(data.x, labels ? data.labels : std::vector<std::int64_t>(), data.rows, 1, silent);
      const TargetCodes training = random_codes(240, 1);
      const TargetCodes queries = random_codes(60, 2);
      const std::vector<double> parts = selection.part_scores(training, queries);
      ASSERT_EQ(parts.size(), 20U);
      EXPECT_NE(parts.front(), parts.back());
      EXPECT_NEAR(std::accumulate(parts.begin(), parts.end(), 0.0) / 20, selection.score(training, queries).value(),
                  1e-12);
    }
  }
}

TEST(Selection, FewHeldOutRowsAreAPartEach) {
  const Held data = held(50, 3, false);
  Progress silent;
  const Selection selection(data.x, data.labels, data.rows, 1, silent);
  EXPECT_EQ(selection.part_scores(random_codes(47, 1), random_codes(3, 2)).size(), 3U);
}

TEST(Selection, ClearlyBetterIsByMoreThanTheStandardError) {
  // Gains 0.1 and 0.3: mean 0.2, standard deviation sqrt(0.02), standard error 0.1.
  EXPECT_TRUE(is_clearly_better({0.6, 0.8}, {0.5, 0.5}));
  EXPECT_FALSE(is_clearly_better({0.5, 0.5}, {0.6, 0.8}));
  // Gains 0.4 and -0.2: mean 0.1, standard error 0.3.
  EXPECT_FALSE(is_clearly_better({0.9, 0.3}, {0.5, 0.5}));
  EXPECT_FALSE(is_clearly_better({0.5, 0.5}, {0.5, 0.5}));
  EXPECT_TRUE(is_clearly_better({0.6}, {0.5}));  // one part: nothing to tell chance by
}

TEST(Selection, InDoubtTheFirstCandidateIsChosen) {
  const std::vector<double> first = {0.5, 0.5};
  const std::vector<double> by_chance = {0.9, 0.3};  // the best mean but one, by one part alone
  const std::vector<double> clearly = {0.55, 0.57};
  const std::vector<double> more_clearly = {0.6, 0.62};
  EXPECT_EQ(choose_candidate({first}), 0U);
  EXPECT_EQ(choose_candidate({first, by_chance}), 0U);
  EXPECT_EQ(choose_candidate({first, by_chance, clearly}), 2U);
  EXPECT_EQ(choose_candidate({first, clearly, more_clearly}), 2U);
  EXPECT_EQ(choose_candidate({first, more_clearly, clearly}), 1U);
  EXPECT_EQ(choose_candidate({more_clearly, clearly, first}), 0U);
}

}  // namespace
}  // namespace bdnn
