#include "linalg/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "base/simd_target.h"

namespace bdnn {
namespace {

class Activations : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_target(GetParam()); }
  void TearDown() override { force_simd_target(""); }
};

template <class T>
void expect_right(double tolerance) {
  Random random(1);
  for (std::size_t rows = 1; rows < 40; ++rows) {
    const std::size_t count = 3;
    std::vector<T> bias(rows);
    std::vector<T> z(rows * count);
    for (auto& value : bias) value = static_cast<T>(random.normal());
    for (auto& value : z) value = static_cast<T>(5 * random.normal());
    z[0] = T{1000};  // far beyond what exp() can take
    z.back() = T{-1000};
    auto added = z;
    auto squashed = z;
    add_bias(bias.data(), rows, count, added.data());
    add_bias_and_squash(bias.data(), rows, count, squashed.data());
    std::vector<T> delta(z.size(), T{2});
    through_sigmoid(squashed.data(), squashed.size(), delta.data());
    auto bent = z;
    add_bias_and_tanh(bias.data(), rows, count, bent.data());
    std::vector<T> bent_delta(z.size(), T{2});
    through_tanh(bent.data(), bent.size(), bent_delta.data());
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double sum = static_cast<double>(z[i]) + static_cast<double>(bias[i % rows]);
      const double sigmoid = 1 / (1 + std::exp(-sum));
      EXPECT_NEAR(static_cast<double>(added[i]), sum, tolerance * std::abs(sum)) << rows;
      EXPECT_NEAR(static_cast<double>(squashed[i]), sigmoid, tolerance) << rows;
      EXPECT_NEAR(static_cast<double>(delta[i]), 2 * sigmoid * (1 - sigmoid), 2 * tolerance) << rows;
      const double tanh = std::tanh(sum);
      EXPECT_NEAR(static_cast<double>(bent[i]), tanh, tolerance) << rows;
      EXPECT_NEAR(static_cast<double>(bent_delta[i]), 2 * (1 - tanh * tanh), 4 * tolerance) << rows;
    }
  }
}

TEST_P(Activations, AreWhatTheirFormulasSay) {
  expect_right<float>(1e-6);
  expect_right<double>(1e-14);
}

TEST_P(Activations, AnEntryDoesNotDependOnItsPlace) {
  const std::vector<float> bias(37, 0.25F);
  std::vector<float> h(37 * 5, 0.7F);
  add_bias_and_squash(bias.data(), 37, 5, h.data());
  for (const float value : h) EXPECT_EQ(value, h[0]);
}

TEST_P(Activations, AColumnGetsTheSameBitsAloneOrAmongOthers) {
  constexpr std::size_t kCount = 7;
  Random random(2);
  for (const std::size_t rows : {1, 3, 5, 13, 50, 90, 511, 513}) {
    std::vector<float> bias(rows);
    std::vector<float> start(rows * kCount);
    for (auto& value : bias) value = static_cast<float>(random.normal());
    for (auto& value : start) value = static_cast<float>(5 * random.normal());
    for (const auto& function : {&add_bias<float>, &add_bias_and_squash<float>, &add_bias_and_tanh<float>,
                                 &add_bias_and_exp, &add_bias_and_cosine}) {
      auto together = start;
      auto alone = start;
      function(bias.data(), rows, kCount, together.data());
      for (std::size_t j = 0; j < kCount; ++j) function(bias.data(), rows, 1, alone.data() + j * rows);
      EXPECT_EQ(together, alone) << rows;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Activations, ::testing::ValuesIn(simd_targets()));

}  // namespace
}  // namespace bdnn
