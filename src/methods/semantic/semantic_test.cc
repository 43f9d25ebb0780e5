// Runs under ThreadSanitizer: threads share a batch and its gradient.
#include "methods/semantic/semantic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "bdnn/encode.h"
#include "expect_error.h"
#include "learn/affine.h"
#include "methods/progress_testing.h"
#include "methods/semantic/autoencoder.h"

namespace bdnn {
namespace {

// The loss as the header writes it, one sample and unit at a time.
double naive(const LayerSizes& sizes, std::size_t code_layer, VisibleUnits units, const std::vector<double>& parameters,
             const std::vector<double>& x, const std::vector<double>& noise, std::size_t samples) {
  const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
  double sum = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const double* sample = x.data() + i * sizes.dimension();
    std::vector<double> h(sample, sample + sizes.dimension());
    for (std::size_t l = 0; l < sizes.count(); ++l) {
      std::vector<double> above;
      for (std::size_t j = 0; j < sizes.outputs(l); ++j) {
        double z = parameters[sizes.biases(l) + j];
        for (std::size_t k = 0; k < h.size(); ++k) z += parameters[sizes.weights(l) + k * sizes.outputs(l) + j] * h[k];
        if (l == code_layer) z += noise[i * sizes.outputs(l) + j];
        above.push_back(l + 1 < sizes.count() || units == VisibleUnits::logistic ? sigmoid(z) : z);
      }
      h = above;
    }
    for (std::size_t d = 0; d < h.size(); ++d) {
      sum += units == VisibleUnits::gaussian ? (h[d] - sample[d]) * (h[d] - sample[d]) / 2
                                             : -sample[d] * std::log(h[d]) - (1 - sample[d]) * std::log(1 - h[d]);
    }
  }
  return sum / static_cast<double>(samples);
}

class AutoencoderOf : public ::testing::TestWithParam<VisibleUnits> {};

TEST_P(AutoencoderOf, LossEqualsTheFormulaAndItsGradientFiniteDifferences) {
  const LayerSizes encoder({5, 4, 2});
  constexpr std::size_t kSamples = 59;
  Random random(1);
  Threads threads(2);
  Autoencoder<double> autoencoder(encoder, GetParam(), threads);
  const LayerSizes& sizes = autoencoder.sizes();
  ASSERT_EQ(sizes.count(), 4U);
  std::vector<double> parameters(sizes.parameters());
  for (auto& value : parameters) value = 0.8 * random.normal();
  std::vector<double> x(5 * kSamples);
  for (auto& value : x) value = GetParam() == VisibleUnits::logistic ? random.uniform() : random.normal();
  std::vector<double> noise(2 * kSamples);
  for (auto& value : noise) value = 4 * random.normal();
  std::vector<double> gradient(sizes.parameters());
  const double loss = autoencoder.evaluate(parameters.data(), x.data(), noise.data(), kSamples, gradient.data());
  EXPECT_NEAR(loss, naive(sizes, 1, GetParam(), parameters, x, noise, kSamples), 1e-10);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    constexpr double kStep = 1e-5;
    const double at = parameters[i];
    parameters[i] = at + kStep;
    const double above = naive(sizes, 1, GetParam(), parameters, x, noise, kSamples);
    parameters[i] = at - kStep;
    const double below = naive(sizes, 1, GetParam(), parameters, x, noise, kSamples);
    parameters[i] = at;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-7) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(VisibleUnits, AutoencoderOf,
                         ::testing::Values(VisibleUnits::logistic, VisibleUnits::gaussian));

// One of four patterns in twelve dimensions, each entry with a little noise; within [0, 1] or about zero.
Vectors patterns(std::size_t count, bool negative) {
  Random random(2);
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    const auto pattern = random.below(4);
    for (std::size_t d = 0; d < 12; ++d) {
      const double on = d / 3 == pattern ? 1 : 0;
      values.push_back(
          static_cast<float>(negative ? 4 * on - 2 + 0.3 * random.normal() : 0.8 * on + 0.2 * random.uniform()));
    }
  }
  return {12, count, std::move(values)};
}

TEST(Semantic, WhereStepsDoNotReachAllSamplesItIsSaid) {
  const Vectors x = patterns(400, true);
  const auto stages = [&](const char* first_steps, const char* steps) {
    return testing::stages_of(x, {.method = "semantic",
                                  .bits = 4,
                                  .set = {{"first_steps", first_steps}, {"steps", steps}, {"batch", "20"}},
                                  .decoder = false});
  };
  EXPECT_EQ(stages("5", "10"),
            (std::set<std::string>{"pretraining, on 100 of 400 samples", "fine-tuning, on 200 of 400 samples"}));
  EXPECT_EQ(stages("20", "20"), (std::set<std::string>{"pretraining", "fine-tuning"}));
}

TEST(Semantic, FineTuningLowersTheLossOfBothKindsOfUnits) {
  for (const char* visible : {"logistic", "gaussian"}) {
    testing::Rounds rounds;
    train(patterns(400, true),
          {.method = "semantic",
           .bits = 6,
           .threads = 1,
           .set = {{"visible", visible}, {"first_steps", "100"}, {"steps", "400"}}},
          rounds);
    EXPECT_EQ(rounds.figures("reconstruction error").size(), 3U);
    const auto losses = rounds.figures("loss");
    ASSERT_EQ(losses.size(), 10U);
    EXPECT_LT(losses.back(), 0.9 * losses.front()) << visible;
  }
}

TEST(Semantic, PretrainingIsAHeadStart) {
  const Vectors x = patterns(400, false);
  double losses[2];
  for (const int pretrained : {0, 1}) {
    testing::Rounds rounds;
    train(x,
          {.method = "semantic",
           .bits = 6,
           .threads = 1,
           .set = {{"first_steps", pretrained == 1 ? "500" : "0"}, {"steps", "10"}}},
          rounds);
    losses[pretrained] = rounds.figures("loss").front();
  }
  EXPECT_LT(losses[1], 0.9 * losses[0]);
}

TEST(Semantic, NoiseMakesTheCodeLayerBinary) {
  const Vectors x = patterns(400, false);
  double share[2];  // of sigmoids that are neither near 0 nor near 1
  for (const int noisy : {0, 1}) {
    const Model model =
        train(x, {.method = "semantic",
                  .bits = 6,
                  .threads = 1,
                  .set = {{"first_steps", "200"}, {"steps", "600"}, {"noise", noisy == 1 ? "4" : "0"}}});
    Threads threads(1);
    const MatrixXf z = outputs_of(std::get<Network>(model.function), x, threads);
    share[noisy] = static_cast<double>((z.array().abs() < 2.2F).count()) / static_cast<double>(z.size());
  }
  EXPECT_LT(share[1], 0.6 * share[0]);
}

TEST(Semantic, CodesTellPatternsApart) {
  for (const char* visible : {"logistic", "gaussian"}) {
    const Vectors x = patterns(400, false);
    const Model model = train(x, {.method = "semantic",
                                  .bits = 8,
                                  .threads = 1,
                                  .set = {{"visible", visible}, {"first_steps", "300"}, {"steps", "600"}}});
    EXPECT_EQ(std::get<Network>(model.function).layers.back().activation, Activation::identity);
    EXPECT_EQ(std::get<Network>(model.function).layers.front().activation, Activation::sigmoid);
    const Codes codes = encode(model, x);
    // The same pattern, as the largest entries show, gives codes that are nearer than those of others.
    const auto pattern = [&](std::size_t i) {
      const float* v = x.floats(i, 1, nullptr);
      return (std::max_element(v, v + 12) - v) / 3;
    };
    double same = 0;
    double other = 0;
    int pairs[2] = {};
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      const bool is_same = pattern(i) == pattern(i + 1);
      (is_same ? same : other) += static_cast<double>(hamming_distance(codes[i], codes[i + 1]));
      ++pairs[is_same ? 1 : 0];
    }
    EXPECT_LT(same / pairs[1], 0.3 * other / pairs[0]) << visible;
  }
}

TEST(Semantic, WithMediansEveryBitIsOnForHalfOfTheSamples) {
  const Vectors x = patterns(400, true);
  const Model model = train(x, {.method = "semantic",
                                .bits = 5,
                                .threads = 1,
                                .set = {{"threshold", "median"}, {"first_steps", "60"}, {"steps", "60"}}});
  Threads threads(1);
  const MatrixXf z = outputs_of(std::get<Network>(model.function), x, threads);
  for (const auto& bit : z.rowwise()) EXPECT_NEAR(static_cast<double>((bit.array() >= 0).count()), 200, 3);
}

TEST(Semantic, AnyNumberOfBitsAndSamples) {
  const Vectors x = patterns(5, true);
  const Model model = train(
      x,
      {.method = "semantic", .bits = 40, .threads = 1, .set = {{"first_steps", "5"}, {"steps", "5"}, {"hidden", "7"}}});
  EXPECT_EQ(model.bits(), 40U);
  EXPECT_EQ(std::get<Network>(model.function).layers.size(), 2U);
}

TEST(Semantic, HiddenUnits) {
  using Units = std::vector<std::size_t>;
  EXPECT_EQ(semantic_hidden_units(32, 784), (Units{200, 200}));
  EXPECT_EQ(semantic_hidden_units(32, 128), (Units{128, 128}));
  EXPECT_EQ(semantic_hidden_units(8, 10), (Units{64, 64}));
  EXPECT_EQ(semantic_hidden_units(512, 784), (Units{1024, 1024}));
}

TEST(Semantic, RefusesDataThatDoesNotVary) {
  EXPECT_BDNN_ERROR(train(Vectors(4, 50, std::vector<float>(200, 7.5F)), {.method = "semantic", .bits = 2}), misuse,
                    "all 50 vectors are the same");
  std::vector<float> rows;
  for (int i = 0; i < 50; ++i) rows.insert(rows.end(), {1, 2, 3, 4});
  EXPECT_BDNN_ERROR(train(Vectors(4, 50, rows), {.method = "semantic", .bits = 2}), misuse,
                    "all 50 vectors are the same");
}

}  // namespace
}  // namespace bdnn
