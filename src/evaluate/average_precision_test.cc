#include "evaluate/average_precision.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace bdnn {
namespace {

constexpr std::size_t kAll = 1000000000;

AveragePrecision worth(const TieRanking& ranking, Ties ties, std::size_t cutoff = kAll) {
  return average_precision(ranking, ties, cutoff, HarmonicNumbers(1000));
}

// At distance 0 two codes, not relevant and relevant; at distance 1 three: relevant, not, relevant.
TieRanking example() { return {.levels = {{2, 1}, {3, 2}}, .relevant = 3, .places = {2, 1, 3}, .nearest = {{1, 3}}}; }

// The numbers of docs/evaluation.md.
TEST(AveragePrecision, IsThatOfTheWorkedExample) {
  const TieRanking ranking = example();
  // Relevant at ranks 1, 3, 4.
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::best).standard, (1.0 + 2.0 / 3 + 3.0 / 4) / 3);
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::best).standard, 29.0 / 36);
  // Halves of 1 + 1, 2/3 + 1/2, 3/4 + 2/3.
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::best).trapezoid, (1.0 + 7.0 / 12 + 17.0 / 24) / 3);
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::best).trapezoid, 55.0 / 72);
  // Relevant at ranks 2, 4, 5.
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::worst).standard, (1.0 / 2 + 2.0 / 4 + 3.0 / 5) / 3);
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::worst).standard, 8.0 / 15);
  // Halves of 1/2 + 0, 2/4 + 1/3, 3/5 + 2/4.
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::worst).trapezoid, (1.0 / 4 + 5.0 / 12 + 11.0 / 20) / 3);
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::worst).trapezoid, 73.0 / 180);
  // Relevant at ranks 2, 3, 5.
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::order).standard, (1.0 / 2 + 2.0 / 3 + 3.0 / 5) / 3);
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::order).standard, 53.0 / 90);
  // Halves of 1/2 + 0, 2/3 + 1/2, 3/5 + 2/4.
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::order).trapezoid, (1.0 / 4 + 7.0 / 12 + 11.0 / 20) / 3);
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::order).trapezoid, 83.0 / 180);
  // The first level: rank 1 or 2. The second: ranks 3 and 4, 3 and 5, or 4 and 5. All alike in chance.
  const double first = (1.0 + 1.0 / 2) / 2;
  const double second = ((2.0 / 3 + 3.0 / 4) + (2.0 / 3 + 3.0 / 5) + (2.0 / 4 + 3.0 / 5)) / 3;
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::expected).standard, (first + second) / 3);
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::expected).standard, 181.0 / 270);
  const double first_half = (1.0 + 1.0 / 4) / 2;
  const double second_half = ((7.0 / 12 + 17.0 / 24) + (7.0 / 12 + 11.0 / 20) + (5.0 / 12 + 11.0 / 20)) / 3;
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::expected).trapezoid, (first_half + second_half) / 3);
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::expected).trapezoid, 79.0 / 135);
}

TEST(AveragePrecision, OfACutoffIsDividedByAllRelevant) {
  const TieRanking ranking = example();
  // The first 3: relevant at 1 and 3; at 2; at 2 and 3.
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::best, 3).standard, (1.0 + 2.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::worst, 3).standard, (1.0 / 2) / 3);
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::order, 3).standard, (1.0 / 2 + 2.0 / 3) / 3);
  // 3/4 of the first level; rank 3 is relevant in 2 of 3 orders, and then the second relevant one.
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::expected, 3).standard, (3.0 / 4 + 2.0 / 3 * 2.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(worth(ranking, Ties::expected, 3).trapezoid, (5.0 / 8 + 2.0 / 3 * 7.0 / 12) / 3);
  for (const Ties ties : {Ties::expected, Ties::order, Ties::best, Ties::worst}) {
    EXPECT_EQ(worth(ranking, ties, 5).standard, worth(ranking, ties).standard);
    EXPECT_EQ(worth({.levels = {{2, 0}, {0, 0}}}, ties).standard, 0);
  }
}

TEST(AmongFirst, CountsByHand) {
  const TieRanking ranking = example();
  // The first 4: the first level with its 1, and 2 of the 3 codes of the second, of which 2 are relevant.
  EXPECT_DOUBLE_EQ(relevant_among_first(ranking, Ties::expected, 4), 1 + 2.0 * 2 / 3);
  EXPECT_EQ(relevant_among_first(ranking, Ties::best, 4), 3);
  EXPECT_EQ(relevant_among_first(ranking, Ties::worst, 4), 2);
  EXPECT_EQ(relevant_among_first(ranking, Ties::order, 4), 2);
  EXPECT_EQ(relevant_among_first(ranking, Ties::worst, 3), 1);
  EXPECT_EQ(relevant_among_first(ranking, Ties::order, 3), 2);
  EXPECT_EQ(relevant_among_first(ranking, Ties::order, 1), 0);
  EXPECT_EQ(relevant_among_first(ranking, Ties::expected, 2), 1);
  EXPECT_EQ(relevant_among_first(ranking, Ties::expected, 5), 3);
  // The nearest is the last code of the second level.
  EXPECT_DOUBLE_EQ(nearest_among_first(ranking, Ties::expected, 4), 2.0 / 3);
  EXPECT_EQ(nearest_among_first(ranking, Ties::expected, 2), 0);
  EXPECT_EQ(nearest_among_first(ranking, Ties::best, 3), 1);
  EXPECT_EQ(nearest_among_first(ranking, Ties::best, 2), 0);
  EXPECT_EQ(nearest_among_first(ranking, Ties::worst, 4), 0);
  EXPECT_EQ(nearest_among_first(ranking, Ties::worst, 5), 1);
  EXPECT_EQ(nearest_among_first(ranking, Ties::order, 4), 0);
  EXPECT_EQ(nearest_among_first(ranking, Ties::order, 5), 1);
}

TEST(HarmonicNumbers, DifferencesAreRightToTheLastDigits) {
  constexpr std::size_t kLargest = 2000000;
  const HarmonicNumbers harmonic(kLargest);
  for (const std::size_t from : {0UL, 1UL, 10UL, 999UL, 60000UL, 1999000UL}) {
    for (const std::size_t length : {0UL, 1UL, 2UL, 30UL, 1000UL}) {
      long double sum = 0;
      for (std::size_t i = from + length; i > from; --i) sum += 1.0L / static_cast<long double>(i);
      const auto expected = static_cast<double>(sum);
      EXPECT_NEAR(harmonic.between(from, from + length), expected, 4e-16 * expected) << from << " " << length;
    }
  }
}

// The sum over ranks that the closed form replaces, in long double.
AveragePrecision by_ranks(const TieRanking& ranking, std::size_t cutoff) {
  long double standard = 0;
  long double trapezoid = 0;
  std::size_t before = 0;
  std::size_t relevant_before = 0;
  for (const auto& [size, relevant] : ranking.levels) {
    const long double slope =
        size > 1 ? (static_cast<long double>(relevant) - 1) / (static_cast<long double>(size) - 1) : 0.0L;
    for (std::size_t t = 1; relevant > 0 && t <= size && before + t <= cutoff; ++t) {
      const long double chance = static_cast<long double>(relevant) / static_cast<long double>(size);
      const long double found = static_cast<long double>(relevant_before) + static_cast<long double>(t - 1) * slope;
      const std::size_t rank = before + t;
      const long double at = (found + 1) / static_cast<long double>(rank);
      standard += chance * at;
      trapezoid += chance * (at + (rank > 1 ? found / static_cast<long double>(rank - 1) : 1.0L)) / 2;
    }
    before += size;
    relevant_before += relevant;
  }
  const auto all = static_cast<long double>(relevant_before);
  return {static_cast<double>(standard / all), static_cast<double>(trapezoid / all)};
}

RC_GTEST_PROP(AveragePrecisionProperty, LargeGroupsLoseNoDigits, ()) {
  TieRanking ranking;
  std::size_t size = 0;
  const auto levels = *rc::gen::inRange(1, 40);
  for (int i = 0; i < levels; ++i) {
    const auto n = static_cast<std::size_t>(*rc::gen::element(0, 1, 2, 3, 50, 1000, 20000));
    const auto g = *rc::gen::inRange<std::size_t>(0, *rc::gen::element<std::size_t>(1, 5, n + 1));
    ranking.levels.push_back({n, std::min(n, g)});
    ranking.relevant += std::min(n, g);
    size += n;
  }
  RC_PRE(ranking.relevant > 0);
  const std::size_t cutoff = *rc::gen::inRange<std::size_t>(1, size + 2);
  const auto expected = by_ranks(ranking, cutoff);
  const auto ours = average_precision(ranking, Ties::expected, cutoff, HarmonicNumbers(std::min(cutoff, size)));
  RC_ASSERT(std::abs(ours.standard - expected.standard) < 1e-14);
  RC_ASSERT(std::abs(ours.trapezoid - expected.trapezoid) < 1e-14);
  // Small results keep their digits too: one pair after 60,000 others is worth about 1/60,000.
  RC_ASSERT(std::abs(ours.standard - expected.standard) <= 1e-10 * expected.standard);
  const auto best = average_precision(ranking, Ties::best, cutoff, HarmonicNumbers(std::min(cutoff, size)));
  const auto worst = average_precision(ranking, Ties::worst, cutoff, HarmonicNumbers(std::min(cutoff, size)));
  RC_ASSERT(worst.standard <= ours.standard + 1e-14 && ours.standard <= best.standard + 1e-14);
  RC_ASSERT(worst.trapezoid <= ours.trapezoid + 1e-14 && ours.trapezoid <= best.trapezoid + 1e-14);
}

TEST(AveragePrecision, OfAPairBehindAllOthersIsNotRounding) {
  // A plain difference of harmonic numbers in double has only six digits of this right.
  const double exact = (1.0 / 60001 + 2.0 / 60002) / 2;
  const TieRanking ranking{.levels = {{60000, 0}, {2, 2}}, .relevant = 2};
  for (const Ties ties : {Ties::expected, Ties::best, Ties::worst}) {
    EXPECT_NEAR(average_precision(ranking, ties, kAll, HarmonicNumbers(60002)).standard, exact, 1e-10 * exact);
  }
}

}  // namespace
}  // namespace bdnn
