// Runs under ThreadSanitizer: samples are gathered, and parameters moved, on several threads.
#include "learn/adam.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/simd_target.h"

namespace bdnn {
namespace {

class AdamOnTarget : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_target(GetParam()); }
  void TearDown() override { force_simd_target(""); }
};

TEST(FallingRate, IsHalfACosine) {
  EXPECT_EQ(falling_rate(0.25, 0), 0.25);
  for (int step = 0; step < 1000; ++step) {
    const double done = step / 1000.0;
    EXPECT_NEAR(falling_rate(2, done), 1 + std::cos(std::acos(-1.0) * done), 1e-15) << done;
  }
}

TEST_P(AdamOnTarget, EqualsKingmaAndBasFormulas) {
  Threads threads(2);
  // Shorter and longer than a vector, and more than one thread's piece.
  for (const std::size_t size : {1, 3, 15, 16, 17, 100, (1 << 14) + 5}) {
    Random random(size);
    Adam adam(size);
    std::vector<float> parameters(size);
    for (float& value : parameters) value = static_cast<float>(random.normal());
    std::vector<double> expected(parameters.begin(), parameters.end());
    std::vector<double> first(size), second(size);
    std::vector<float> gradient(size);
    for (int step = 1; step <= 5; ++step) {
      for (float& value : gradient) value = static_cast<float>(std::pow(10, step - 3) * random.normal());
      const double rate = 0.1 / step;
      adam.step(gradient.data(), rate, parameters.data(), threads);
      for (std::size_t i = 0; i < size; ++i) {
        const double g = static_cast<double>(gradient[i]);
        first[i] = 0.9 * first[i] + 0.1 * g;
        second[i] = 0.999 * second[i] + 0.001 * g * g;
        const double mean = first[i] / (1 - std::pow(0.9, step));
        const double square = second[i] / (1 - std::pow(0.999, step));
        expected[i] -= rate * mean / (std::sqrt(square) + 1e-8);
        ASSERT_NEAR(static_cast<double>(parameters[i]), expected[i], 1e-5) << size << " parameters, step " << step;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, AdamOnTarget, ::testing::ValuesIn(simd_targets()),
                         [](const auto& target) { return target.param; });

// Keeps the sums that each step was taken by.
struct Recorder final : Similarity {
  double evaluate(const OutputSums& sums, OutputGradient&) const override {
    seen.push_back(sums.hh);
    return 0;
  }
  mutable std::vector<MatrixXd> seen;
};

// Sums over batches that stand still (the rate is 0) are averaged with weights that fall by 1 - blend per batch, and
// from the first batch on the weights add up to 1.
TEST(Adam, BlendsTheSumsOfBatches) {
  constexpr std::size_t kSamples = 120;
  Random random(1);
  std::vector<float> values(4 * kSamples);
  for (float& value : values) value = static_cast<float>(random.normal());
  const Vectors x(4, kSamples, std::move(values));
  std::vector<std::uint32_t> rows(kSamples);
  for (std::size_t i = 0; i < kSamples; ++i) rows[i] = static_cast<std::uint32_t>(i);
  const TrainingSet set(x, rows, {VectorXd::Zero(4), 1});
  const LayerSizes sizes({4, 3, 2});
  std::vector<float> start(sizes.parameters());
  for (float& value : start) value = static_cast<float>(random.normal());
  const TargetCodes codes(2, kSamples);
  Threads threads(1);

  const auto sums_of_steps = [&](double blend) {
    const Recorder recorder;
    Objective<float> objective(sizes, {.independence = 1}, recorder, codes, kSamples, threads);
    Random order(7);
    Progress silent;
    std::vector<float> parameters = start;
    minimise_adam(objective, set, sizes, {.steps = 12, .batch = 20, .rate = 0, .blend = blend}, nullptr, order, threads,
                  silent, parameters);
    EXPECT_EQ(parameters, start);
    return recorder.seen;
  };
  const std::vector<MatrixXd> alone = sums_of_steps(1);
  ASSERT_EQ(alone.size(), 12U);
  EXPECT_GT((alone[0] - alone[1]).norm(), 0.01 * alone[0].norm()) << "batches differ";
  for (const double blend : {0.25, 0.8}) {
    const std::vector<MatrixXd> blended = sums_of_steps(blend);
    MatrixXd sum = MatrixXd::Zero(2, 2);
    double weights = 0;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      sum = (1 - blend) * sum + blend * alone[i];
      weights = (1 - blend) * weights + blend;
      EXPECT_LT((blended[i] - sum / weights).norm(), 1e-9 * sum.norm()) << "batch " << i << ", blend " << blend;
    }
  }
}

}  // namespace
}  // namespace bdnn
