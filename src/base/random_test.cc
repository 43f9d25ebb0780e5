#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <set>

namespace bdnn {
namespace {

TEST(Random, TheStandardFixesTheFirstNumbers) {
  Random random(5489);  // the engine's default seed, whose 10,000th number the standard states
  std::uint64_t last = 0;
  for (int i = 0; i < 10000; ++i) last = random.bits();
  EXPECT_EQ(last, 9981545732273789042ULL);
}

// Distance in units in the last place of `right`.
double ulps(double value, double right) {
  const double unit = std::abs(std::nextafter(right, 2 * right + 1) - right);
  return std::abs(value - right) / unit;
}

TEST(Random, LogarithmAndCosineAreThoseOfTheLibraryUpToRounding) {
  Random random(3);
  for (int i = 0; i < 200000; ++i) {
    const double u = random.uniform();
    ASSERT_LE(ulps(portable_log(1 - u), std::log(1 - u)), 2) << 1 - u;
    // Near a zero of the cosine, the library's argument 2 pi u is rounded, ours is not: compare absolutely.
    ASSERT_NEAR(portable_cos_turns(u), std::cos(2 * std::numbers::pi * u), 1e-15) << u;
  }
  for (const double x : {0x1p-53, 0x1p-20, 0.5, 0.70710678118654746, 0.75, 1.0, 1.4142135623730951, 2.0, 1e300}) {
    EXPECT_LE(ulps(portable_log(x), std::log(x)), 2) << x;
  }
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_EQ(portable_cos_turns(0), 1);
  EXPECT_EQ(portable_cos_turns(0.25), 0);
  EXPECT_EQ(portable_cos_turns(0.5), -1);
  EXPECT_EQ(portable_cos_turns(0.75), 0);
}

// Written down, so that a compiler or machine that rounds otherwise is noticed.
TEST(Random, NormalsAreTheSameEverywhere) {
  Random random(1);
  for (const double right : {0x1.676a93ccea4ffp-2, 0x1.16007c53e018dp+0, 0x1.94108d1f8799fp-1, 0x1.01c9a344df5dfp+0,
                             -0x1.b7153fc0ca37ap-1, -0x1.9ffa7a2cb57ep-2})
    EXPECT_EQ(random.normal(), right);
}

TEST(Random, NormalHasTheMomentsOfANormal) {
  Random random(1);
  constexpr int kDraws = 200000;
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
  EXPECT_NEAR(fourth / kDraws, 3, 0.1);
}

TEST(Random, BelowIsUniform) {
  Random random(2);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts[random.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(RandomRows, AreDifferentAndAnyRowMayCome) {
  Random random(3);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 60; ++i) {
    const auto rows = random_rows(10, 4, random);
    EXPECT_EQ(std::set<std::uint32_t>(rows.begin(), rows.end()).size(), 4U);
    seen.insert(rows.begin(), rows.end());
  }
  EXPECT_EQ(seen.size(), 10U);
  EXPECT_EQ(random_rows(10, 10, random).size(), 10U);
}

}  // namespace
}  // namespace bdnn
