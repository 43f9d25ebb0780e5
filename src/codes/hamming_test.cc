#include "codes/hamming.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "base/simd_target.h"
#include "bdnn/codes.h"
#include "expect_error.h"

namespace bdnn {
namespace {

std::vector<std::uint8_t> random_codes(std::size_t bits, std::size_t count, Random& random) {
  const std::size_t bytes = (bits + 7) / 8;
  std::vector<std::uint8_t> codes(bytes * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < bits; ++b) {
      if (random.below(2) == 1) codes[i * bytes + b / 8] |= static_cast<std::uint8_t>(1U << b % 8);
    }
  }
  return codes;
}

// Bit by bit.
std::uint16_t naive_distance(const std::uint8_t* a, const std::uint8_t* b, std::size_t bits) {
  std::uint16_t distance = 0;
  for (std::size_t i = 0; i < bits; ++i) {
    distance = static_cast<std::uint16_t>(distance + (((a[i / 8] ^ b[i / 8]) >> i % 8) & 1));
  }
  return distance;
}

class Hamming : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_target(GetParam()); }
  void TearDown() override { force_simd_target(""); }
};

TEST_P(Hamming, EqualsTheNaiveLoopForAllLengths) {
  Random random(1);
  std::vector<std::size_t> lengths;
  for (std::size_t bits = 1; bits <= 300; ++bits) lengths.push_back(bits);
  for (const std::size_t bits : {511, 512, 513, 1000, 1024, 4095, 4096}) lengths.push_back(bits);
  for (const std::size_t bits : lengths) {
    const std::size_t bytes = (bits + 7) / 8;
    for (const std::size_t count : {1, 2, 7, 63, 64, 65, 129}) {
      // From an odd address, as codes in a file may stand.
      auto codes = random_codes(bits, count, random);
      codes.insert(codes.begin(), 0);
      const auto query = random_codes(bits, 1, random);
      std::vector<std::uint16_t> distances(count + 1, 9999);
      hamming_distances(query.data(), codes.data() + 1, bytes, count, distances.data());
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(distances[i], naive_distance(query.data(), codes.data() + 1 + i * bytes, bits))
            << bits << " bits, code " << i << " of " << count;
      }
      ASSERT_EQ(distances[count], 9999) << "written outside";
    }
  }
}

TEST_P(Hamming, SignsArePackedFromTheLeastSignificantBit) {
  Random random(2);
  for (std::size_t bits = 1; bits <= 130; ++bits) {
    constexpr std::size_t kCount = 5;
    std::vector<float> h(bits * kCount);
    for (auto& value : h) value = static_cast<float>(random.normal());
    h[0] = 0.0F;
    h[h.size() - 1] = -0.0F;  // also not below zero
    const std::size_t bytes = (bits + 7) / 8;
    std::vector<std::uint8_t> codes(bytes * kCount + 1, 0xaa);
    EXPECT_TRUE(pack_signs(h.data(), bits, kCount, codes.data()));
    for (std::size_t j = 0; j < kCount; ++j) {
      for (std::size_t i = 0; i < 8 * bytes; ++i) {
        const bool expected = i < bits && h[j * bits + i] >= 0;
        ASSERT_EQ((codes[j * bytes + i / 8] >> i % 8) & 1, expected) << bits << " bits";
      }
    }
    ASSERT_EQ(codes.back(), 0xaa) << "written outside";
  }
}

TEST_P(Hamming, SignsOfWhatIsNotFiniteAreReported) {
  for (const std::size_t bits : {3, 8, 19, 32}) {
    for (std::size_t at = 0; at < 2 * bits; ++at) {
      for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<float> h(2 * bits, std::numeric_limits<float>::max());
        std::vector<std::uint8_t> codes(2 * ((bits + 7) / 8));
        EXPECT_TRUE(pack_signs(h.data(), bits, 2, codes.data()));
        h[at] = bad;
        EXPECT_FALSE(pack_signs(h.data(), bits, 2, codes.data())) << bits << " bits, at " << at;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Hamming, ::testing::ValuesIn(simd_targets()),
                         [](const auto& target) { return target.param; });

TEST(Codes, ASliceSharesTheBytes) {
  const Codes codes(12, 4, {1, 0, 2, 0, 3, 0, 4, 0}, {"model", "itq", true, 3});
  const Codes slice = codes.slice(1, 2);
  EXPECT_EQ(slice.size(), 2U);
  EXPECT_EQ(slice.data(), codes.data() + 2);
  EXPECT_EQ(slice[1][0], 3);
  EXPECT_EQ(slice.origin().model, "model");
  EXPECT_TRUE(slice.origin().refined);
  EXPECT_EQ(codes.slice(4, 0).size(), 0U);
  EXPECT_BDNN_ERROR(codes.slice(3, 2), misuse, "2 codes starting at number 3 were requested, but there are only 4");
  EXPECT_BDNN_ERROR(codes.slice(5, 0), misuse, "but there are only 4");
}

TEST(Signs, RoundTripForEveryLength) {
  Random random(1);
  for (std::size_t bits = 1; bits <= 70; ++bits) {
    std::vector<float> b(3 * bits);
    for (auto& value : b) value = random.below(2) == 0 ? -1.0F : 1.0F;
    std::vector<std::uint8_t> codes(3 * bytes_for_bits(bits));
    ASSERT_TRUE(pack_signs(b.data(), bits, 3, codes.data()));
    std::vector<float> floats(b.size());
    std::vector<double> doubles(b.size());
    unpack_signs(codes.data(), bits, 3, floats.data());
    unpack_signs(codes.data(), bits, 3, doubles.data());
    EXPECT_EQ(floats, b);
    EXPECT_TRUE(std::equal(b.begin(), b.end(), doubles.begin()));
  }
}

}  // namespace
}  // namespace bdnn
