#include "codes/spherical.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "bdnn/spherical.h"
#include "codes/spherical_testing.h"

namespace bdnn {
namespace {

using testing::Fraction;
using testing::naive_spherical;

void expect_same_order(std::size_t x, std::size_t a, std::size_t y, std::size_t b, std::size_t bits) {
  const Fraction first = naive_spherical(x, a, bits);
  const Fraction second = naive_spherical(y, b, bits);
  ASSERT_EQ(spherical_order(x, a, bits) < spherical_order(y, b, bits), first < second)
      << x << "/" << a << " " << y << "/" << b;
  ASSERT_EQ(spherical_order(x, a, bits) == spherical_order(y, b, bits), first == second)
      << x << "/" << a << " " << y << "/" << b;
  ASSERT_EQ(spherical_distance(x, a, bits) < spherical_distance(y, b, bits), first < second);
  ASSERT_EQ(spherical_distance(x, a, bits) == spherical_distance(y, b, bits), first == second);
}

TEST(SphericalOrder, ComparesAllPairsOfShortCodesAsFractions) {
  constexpr std::size_t kBits = 20;
  for (std::size_t x = 0; x <= kBits; ++x) {
    for (std::size_t a = 0; a + x <= kBits; ++a) {
      for (std::size_t y = 0; y <= kBits; ++y) {
        for (std::size_t b = 0; b + y <= kBits; ++b) expect_same_order(x, a, y, b, kBits);
      }
    }
  }
}

TEST(SphericalOrder, TellsTheClosestFractionsOfLongCodesApart) {
  // x/a and y/b with x b - y a = 1 are as close as two fractions with these denominators can be.
  for (std::size_t a = 2030; a < 2048; ++a) {
    expect_same_order(a, a + 1, a + 1, a + 2, kMaxBits);
    expect_same_order(a + 1, a, a + 2, a + 1, kMaxBits);
    expect_same_order(1, 2 * a, 1, 2 * a - 1, kMaxBits);
    expect_same_order(kMaxBits - 1, 1, 1, 0, kMaxBits);
  }
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const std::size_t x = random.below(kMaxBits + 1);
    const std::size_t a = random.below(kMaxBits - x + 1);
    const std::size_t y = random.below(kMaxBits + 1);
    const std::size_t b = random.below(kMaxBits - y + 1);
    expect_same_order(x, a, y, b, kMaxBits);
    expect_same_order(x / 2, a / 2, 2 * (x / 2), 2 * (a / 2), kMaxBits);
  }
}

TEST(SphericalDistance, ByHand) {
  EXPECT_EQ(spherical_distance(3, 2, 8), 1.5);
  EXPECT_EQ(spherical_distance(0, 5, 8), 0);
  EXPECT_EQ(spherical_distance(0, 0, 8), 0);  // equal codes without a bit set
  EXPECT_EQ(spherical_distance(1, 0, 8), 9);  // nothing in common: beyond 7 / 1, the largest other distance
  EXPECT_EQ(spherical_distance(4, 0, 8), 36);
}

TEST(SphericalDistance, SetBitsAreCountedForAnyLength) {
  Random random(2);
  for (const std::size_t bits : {1, 7, 8, 12, 32, 64, 100, 4096}) {
    std::vector<std::uint8_t> bytes(5 * bytes_for_bits(bits));
    std::vector<std::uint16_t> naive(5);
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t b = 0; b < bits; ++b) {
        if (random.below(3) == 0) continue;
        bytes[i * bytes_for_bits(bits) + b / 8] |= static_cast<std::uint8_t>(1U << b % 8);
        ++naive[i];
      }
    }
    EXPECT_EQ(count_bits(Codes(bits, 5, bytes)), naive) << bits;
  }
}

}  // namespace
}  // namespace bdnn
