// The terms of a batch against their definitions in double, and their gradients against finite differences.
#include <gtest/gtest.h>

#include <cmath>

#include "base/simd_target.h"
#include "learn/class_codes.h"
#include "learn/class_term.h"
#include "learn/neighbour_term.h"

namespace bdnn {
namespace {

std::vector<float> random_outputs(std::size_t count, Random& random) {
  std::vector<float> h(count);
  for (float& value : h) value = static_cast<float>(random.normal());
  return h;
}

double dot(const float* a, const float* b, std::size_t bits) {
  double sum = 0;
  for (std::size_t k = 0; k < bits; ++k) {
    sum += std::tanh(static_cast<double>(a[k])) * std::tanh(static_cast<double>(b[k]));
  }
  return sum;
}

// `value(h)` is the term in double; the term itself is in float, so its gradient is compared with differences of this.
template <class Value>
void expect_gradient_of(BatchTerm& term, const std::vector<float>& h, std::size_t bits,
                        const std::vector<std::uint32_t>& places, const Value& value) {
  std::vector<float> gradient(h.size(), 0.5F);
  EXPECT_NEAR(term.evaluate(h.data(), bits, places, gradient.data()), value(h), 1e-4 * std::abs(value(h)));
  for (std::size_t i = 0; i < h.size(); i += 3) {
    auto moved = h;
    constexpr float kStep = 1.0F / 256;
    moved[i] = h[i] + kStep;
    const double above = value(moved);
    moved[i] = h[i] - kStep;
    const double slope = (above - value(moved)) / (2 * static_cast<double>(kStep));
    ASSERT_NEAR(static_cast<double>(gradient[i]), 0.5 + slope, 2e-4) << "output " << i;
  }
}

// 40 samples on a circle: the neighbours of one are those beside it.
NeighbourLists circle(std::size_t per_anchor, std::size_t near) {
  NeighbourLists lists;
  lists.per_anchor = per_anchor;
  lists.near = near;
  for (std::uint32_t a = 0; a < 40; a += 2) {
    lists.anchors.push_back(a);
    for (std::uint32_t i = 0; i < per_anchor; ++i) {
      lists.neighbours.push_back((a + 40 + (i % 2 == 0 ? i / 2 + 1 : 40 - i / 2 - 1)) % 40);
    }
  }
  return lists;
}

class TermsOnTarget : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_target(GetParam()); }
  void TearDown() override { force_simd_target(""); }
};

TEST_P(TermsOnTarget, NeighboursTermIsItsDefinition) {
  using Levels = std::vector<NeighbourLevel>;
  for (const Levels& levels : {Levels{{6, 1.7, 1.3}, {12, 0.8, 2.1}}, {{6, 1.7, 1.3}, {12, 0, 1}}, {{6, 1.7, 1.3}}}) {
    constexpr std::size_t kBits = 11;
    NeighbourTerm term(circle(levels.back().last, 6), levels);
    Random random(3);
    const auto places = term.draw(60, random);
    const std::size_t own = 4 * levels.size();
    const std::size_t anchors = places.size() / (1 + own);
    ASSERT_EQ(places.size(), anchors * (1 + own));
    for (std::size_t a = 0; a < anchors; ++a) {
      EXPECT_EQ(places[a] % 2, 0U) << "an anchor";
      for (std::size_t i = 0; i < own; ++i) {
        const std::size_t apart = (places[anchors + a * own + i] + 40 - places[a]) % 40;
        EXPECT_EQ(std::min(apart, 40 - apart) <= 3, i < 4) << "near first, then what is farther";
      }
    }
    const auto value = [&](const std::vector<float>& h) {
      double sum = 0;
      for (std::size_t level = 0; level < levels.size(); ++level) {
        for (std::size_t a = 0; a < anchors; ++a) {
          const auto e = [&](std::size_t j) {
            return std::exp(dot(&h[a * kBits], &h[j * kBits], kBits) / levels[level].temperature);
          };
          const std::size_t first_own = anchors + a * own;
          const std::size_t end_of_level = first_own + 4 * (level + 1);
          double beyond = 0;
          for (std::size_t j = 0; j < places.size(); ++j) {
            if (j != a && (j < first_own || j >= end_of_level)) beyond += e(j);
          }
          for (std::size_t p = end_of_level - 4; p < end_of_level; ++p) {
            sum -= levels[level].weight * std::log(e(p) / (e(p) + beyond)) / static_cast<double>(4 * anchors);
          }
        }
      }
      return sum;
    };
    expect_gradient_of(term, random_outputs(kBits * places.size(), random), kBits, places, value);
  }
}

TEST_P(TermsOnTarget, ClassesTermIsItsDefinition) {
  constexpr std::size_t kBits = 13;
  constexpr double kWeight = 0.6;
  constexpr double kTemperature = 2.1;
  const TargetCodes codes = class_codes(5, kBits, 1);
  const std::vector<std::int32_t> class_of = {0, 4, 5, 2, 2, 1, 5, 3, 0, 4};  // 5: unlabelled
  ClassTerm term(codes, class_of, kWeight, kTemperature);
  const std::vector<std::uint32_t> places = {9, 2, 0, 4, 7, 6, 1};
  const auto value = [&](const std::vector<float>& h) {
    double sum = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto own = static_cast<std::size_t>(class_of[places[i]]);
      if (own == 5) continue;
      double e[5];
      double total = 0;
      for (std::size_t c = 0; c < 5; ++c) {
        float code[kBits];
        codes.unpack(c, code);
        double s = 0;
        for (std::size_t k = 0; k < kBits; ++k) {
          s += std::tanh(static_cast<double>(h[i * kBits + k])) * static_cast<double>(code[k]);
        }
        total += e[c] = std::exp(s / kTemperature);
      }
      sum -= std::log(e[own] / total);
    }
    return kWeight * sum / 5;
  };
  Random random(5);
  expect_gradient_of(term, random_outputs(kBits * places.size(), random), kBits, places, value);
  const std::vector<std::uint32_t> unlabelled = {2, 6};
  std::vector<float> gradient(2 * kBits, 0.0F);
  EXPECT_EQ(term.evaluate(random_outputs(2 * kBits, random).data(), kBits, unlabelled, gradient.data()), 0);
  EXPECT_EQ(gradient, std::vector<float>(2 * kBits, 0.0F));
}

INSTANTIATE_TEST_SUITE_P(Targets, TermsOnTarget, ::testing::ValuesIn(simd_targets()),
                         [](const auto& target) { return target.param; });

std::size_t smallest_distance(const TargetCodes& codes) {
  std::size_t least = codes.bits();
  for (std::size_t a = 0; a < codes.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      std::size_t distance = 0;
      for (std::size_t k = 0; k < codes.stride(); ++k) {
        distance += static_cast<std::size_t>(std::popcount(
            static_cast<unsigned>(codes.bytes()[a * codes.stride() + k] ^ codes.bytes()[b * codes.stride() + k])));
      }
      least = std::min(least, distance);
    }
  }
  return least;
}

// The known largest numbers of codes: A(8,4) = 16, A(8,3) = 20, A(16,8) = 32, A(5,3) = 4, A(4,2) = 8.
TEST(ClassCodes, AreAboutAsFarApartAsCodesCanBe) {
  EXPECT_EQ(smallest_distance(class_codes(2, 8, 1)), 8U);
  EXPECT_EQ(smallest_distance(class_codes(10, 8, 1)), 4U);
  EXPECT_GE(smallest_distance(class_codes(26, 8, 1)), 2U);  // 3 is impossible
  EXPECT_EQ(smallest_distance(class_codes(4, 5, 1)), 3U);
  EXPECT_EQ(smallest_distance(class_codes(8, 4, 1)), 2U);
  EXPECT_GE(smallest_distance(class_codes(10, 16, 1)), 7U);
  EXPECT_GE(smallest_distance(class_codes(100, 64, 1)), 20U);
  EXPECT_EQ(smallest_distance(class_codes(4, 2, 1)), 1U);
  EXPECT_EQ(class_codes(300, 8, 1).size(), 300U);  // more than there are codes
  EXPECT_EQ(class_codes(1, 1, 1).size(), 1U);
}

}  // namespace
}  // namespace bdnn
