#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace bdnn {
namespace {

TEST(Random, TheStandardFixesTheFirstNumbers) {
  Random random(5489);  // the engine's default seed, whose 10,000th number the standard states
  std::uint64_t last = 0;
  for (int i = 0; i < 10000; ++i) last = random.bits();
  EXPECT_EQ(last, 9981545732273789042ULL);
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

}  // namespace
}  // namespace bdnn
