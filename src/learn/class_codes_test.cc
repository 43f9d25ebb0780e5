#include "learn/class_codes.h"

#include <gtest/gtest.h>

#include <bit>

namespace bdnn {
namespace {

int least_distance(const TargetCodes& codes) {
  int least = static_cast<int>(codes.bits());
  for (std::size_t a = 0; a < codes.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      int distance = 0;
      for (std::size_t byte = 0; byte < codes.stride(); ++byte) {
        const int differing = codes.bytes()[a * codes.stride() + byte] ^ codes.bytes()[b * codes.stride() + byte];
        distance += std::popcount(static_cast<unsigned>(differing));
      }
      least = std::min(least, distance);
    }
  }
  return least;
}

// A(8, 4) = 16 and A(8, 3) = 20: ten classes can be 4 bits apart in 8, but 26 no more than 2.
TEST(ClassCodes, AreAsFarApartAsCanBe) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(least_distance(class_codes(10, 8, seed)), 4) << seed;
    EXPECT_EQ(least_distance(class_codes(26, 8, seed)), 2) << seed;
    EXPECT_EQ(least_distance(class_codes(2, 8, seed)), 8) << seed;
    EXPECT_EQ(least_distance(class_codes(256, 8, seed)), 1) << seed;
  }
}

TEST(ClassCodes, MoreClassesThanCodesShareThem) {
  EXPECT_EQ(least_distance(class_codes(5, 2, 1)), 0);
  EXPECT_EQ(class_codes(5, 2, 1).size(), 5U);
}

}  // namespace
}  // namespace bdnn
