// Runs under ThreadSanitizer: threads share a batch and its gradient.
#include "learn/batch_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

namespace bdnn {
namespace {

std::vector<double> normals(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(size);
  for (auto& value : values) value = random.normal();
  return values;
}

struct Setting {
  std::vector<std::size_t> units;
  LayerActivations activations;
  std::size_t samples;
  std::optional<std::size_t> noisy = {};
};

// sum over samples and outputs of weight * h^2 / 2, with weights of its own for each sample.
double evaluate(const Setting& setting, const std::vector<double>& parameters, int threads,
                std::vector<double>& gradient) {
  const LayerSizes sizes(setting.units);
  const std::vector<double> x = normals(sizes.dimension() * setting.samples, 2);
  Threads team(threads);
  BatchGradient<double> pass(sizes, setting.activations, team);
  const auto loss = [&](std::size_t first, std::size_t count, const double* h, double* delta) {
    double sum = 0;
    for (std::size_t i = 0; i < count * sizes.bits(); ++i) {
      const auto weight = static_cast<double>(1 + (first + i / sizes.bits()) % 3);
      sum += weight * h[i] * h[i] / 2;
      delta[i] = weight * h[i];
    }
    return sum;
  };
  gradient.assign(sizes.parameters(), std::nan(""));
  std::vector<double> noise;
  std::optional<BatchGradient<double>::Noise> at;
  if (setting.noisy) {
    noise = normals(sizes.outputs(*setting.noisy) * setting.samples, 3);
    at = {*setting.noisy, noise.data()};
  }
  pass.forward(parameters.data(), x.data(), setting.samples, at ? &*at : nullptr);
  return pass.backward(loss, gradient.data());
}

TEST(BatchGradient, EqualsFiniteDifferencesForAllFunctionsOfLayers) {
  using enum Activation;
  const Setting settings[] = {
      {{5, 3}, {sigmoid, identity}, 7}, {{4, 6, 3}, {sigmoid, identity}, 60},          {{4, 5, 3, 2}, {tanh, tanh}, 9},
      {{3, 4, 2}, {tanh, sigmoid}, 5},  {{3, 5, 2, 5, 3}, {sigmoid, identity}, 58, 1}, {{3, 4, 4}, {tanh, tanh}, 6, 1},
  };
  for (const Setting& setting : settings) {
    const LayerSizes sizes(setting.units);
    std::vector<double> parameters = normals(sizes.parameters(), 1);
    std::vector<double> gradient;
    evaluate(setting, parameters, 2, gradient);
    std::vector<double> unused;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      constexpr double kStep = 1e-5;
      const double at = parameters[i];
      parameters[i] = at + kStep;
      const double above = evaluate(setting, parameters, 1, unused);
      parameters[i] = at - kStep;
      const double below = evaluate(setting, parameters, 1, unused);
      parameters[i] = at;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-6 * (1 + std::abs(gradient[i])))
          << "parameter " << i << " of " << setting.units.size() << " layers";
    }
  }
}

TEST(BatchGradient, ThreadsChangeNothing) {
  const Setting setting{{200, 30, 7}, {Activation::tanh, Activation::tanh}, 300};
  const std::vector<double> parameters = normals(LayerSizes(setting.units).parameters(), 1);
  std::vector<double> one;
  std::vector<double> four;
  EXPECT_EQ(evaluate(setting, parameters, 1, one), evaluate(setting, parameters, 4, four));
  EXPECT_EQ(one, four);
}

TEST(ShuffledBatches, SeeEverySampleOnceBeforeOneIsSeenAgain) {
  std::vector<float> values(103);
  std::iota(values.begin(), values.end(), 0.0F);
  const Vectors x(1, 103, values);
  std::vector<std::uint32_t> rows(103);
  std::iota(rows.begin(), rows.end(), 0U);
  const TrainingSet set(x, rows, {VectorXd::Constant(1, 3.0), 2});
  Random random(5);
  Threads threads(2);
  ShuffledBatches batches(set, 25, random, threads);
  std::vector<std::uint32_t> last_pass;
  for (int pass = 0; pass < 3; ++pass) {
    std::vector<std::uint32_t> seen;
    for (int batch = 0; batch < 4; ++batch) {
      batches.next();
      EXPECT_NEAR(static_cast<double>(batches.size()), 103.0 / 4, 1);
      for (std::size_t i = 0; i < batches.size(); ++i) {
        seen.push_back(batches.samples()[i]);
        EXPECT_EQ(batches.x()[i], (static_cast<float>(seen.back()) - 3) * 2);
      }
    }
    EXPECT_EQ(std::set<std::uint32_t>(seen.begin(), seen.end()).size(), 103U);
    EXPECT_NE(seen, last_pass);
    last_pass = seen;
  }
}

TEST(ShuffledBatches, FewSamplesAreOneBatch) {
  const Vectors x(2, 3, {1, 2, 3, 4, 5, 6});
  const TrainingSet set(x, {0, 1, 2}, {VectorXd::Zero(2), 1});
  Random random(5);
  Threads threads(1);
  ShuffledBatches batches(set, 100, random, threads);
  batches.next();
  EXPECT_EQ(batches.size(), 3U);
}

}  // namespace
}  // namespace bdnn
