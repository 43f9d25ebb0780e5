#include "methods/lda_hash/lda_hash.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "bdnn/bdnn.h"
#include "expect_error.h"
#include "learn/affine.h"
#include "linalg/decompose.h"
#include "methods/lda_hash/pair_threshold.h"

namespace bdnn {
namespace {

// By looking at every pair.
double errors_at(double threshold, const std::vector<float>& values, const ClassLabels& labels) {
  double split[2] = {};
  double pairs[2] = {};
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!labels.labelled(i) || !labels.labelled(j)) continue;
      const bool same = labels.of[i] == labels.of[j];
      pairs[same] += 1;
      split[same] += (values[i] >= threshold) != (values[j] >= threshold) ? 1 : 0;
    }
  }
  return split[1] / pairs[1] + 1 - split[0] / pairs[0];
}

TEST(PairThreshold, NoOtherThresholdBeatsIt) {
  Random random(1);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t count = 6 + random.below(40);
    std::vector<float> values(count);
    std::vector<std::int64_t> numbers(count);
    for (std::size_t i = 0; i < count; ++i) {
      // Few different values: many ties.
      values[i] = static_cast<float>(random.below(trial % 2 == 0 ? 8 : 1000000)) / 4;
      numbers[i] = static_cast<std::int64_t>(random.below(4)) - 1;  // of three classes, or unlabelled
    }
    numbers[0] = numbers[1] = 0;
    numbers[2] = 1;
    const ClassLabels labels = number_classes(numbers, "m");
    const PairThreshold found = best_pair_threshold(values.data(), 1, labels);
    if (found.errors < 1) {
      EXPECT_NEAR(found.errors, errors_at(found.threshold, values, labels), 1e-12);
    }
    for (const float value : values) {
      EXPECT_LE(found.errors, errors_at(static_cast<double>(value), values, labels) + 1e-12) << trial;
    }
  }
}

TEST(PairThreshold, StandsInTheGapBetweenTwoClasses) {
  const ClassLabels labels = number_classes(std::vector<std::int64_t>{5, 9, 5, 9, 9, -1}, "m");
  const std::vector<float> values = {1, 0, 7, 0, 2, 0, 5, 0, 6, 0, 3.9F, 0};  // two apart
  const PairThreshold found = best_pair_threshold(values.data(), 2, labels);
  EXPECT_DOUBLE_EQ(found.threshold, 3.5);
  EXPECT_DOUBLE_EQ(found.errors, 0);
}

struct LdaExample {
  Vectors x;
  std::vector<std::int64_t> labels;
};

// Two classes that differ in the first dimension, where they vary least; the second varies most.
LdaExample two_classes(std::size_t count = 400, std::size_t dimension = 5) {
  Random random(2);
  std::vector<float> values;
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < count; ++i) {
    labels.push_back(i % 4 == 0 ? 1 : 0);
    for (std::size_t k = 0; k < dimension; ++k) {
      const double spread = k == 0 ? 0.5 : k == 1 ? 10 : 1;
      values.push_back(static_cast<float>(20 + spread * random.normal() + (k == 0 && labels.back() == 1 ? 4 : 0)));
    }
  }
  return {{dimension, count, std::move(values)}, std::move(labels)};
}

const Layer& layer_of(const Model& model) { return std::get<Network>(model.function).layers.front(); }

TEST(LdaHash, OneBitTellsTwoClassesApart) {
  const LdaExample e = two_classes();
  for (const char* projection : {"lda", "dif"}) {
    const Model model =
        train(e.x, {.method = "lda-hash", .bits = 1, .set = {{"projection", projection}}, .labels = e.labels});
    const Codes codes = encode(model, e.x);
    std::size_t equal = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) equal += (codes[i][0] & 1) == e.labels[i] ? 1U : 0U;
    EXPECT_GT(std::max(equal, codes.size() - equal), 395U) << projection;
  }
}

// Fisher's direction for two classes is the inverse of the covariance within classes times the difference of means.
TEST(LdaHash, TheFirstDirectionIsFishers) {
  Random random(7);
  MatrixXd mix(4, 4);
  for (double& entry : mix.reshaped()) entry = random.normal();
  std::vector<float> values;
  std::vector<std::int64_t> labels;
  for (int i = 0; i < 20000; ++i) {
    VectorXd noise(4);
    for (double& entry : noise) entry = random.normal();
    VectorXd sample = mix * noise;
    labels.push_back(i % 2);
    if (i % 2 == 1) sample[2] += 3;
    for (const double value : sample) values.push_back(static_cast<float>(value));
  }
  const Model model = train(Vectors(4, 20000, std::move(values)),
                            {.method = "lda-hash", .bits = 1, .set = {{"regularisation", "0"}}, .labels = labels});
  const VectorXd found = Eigen::Map<const VectorXf>(layer_of(model).weight.data(), 4).cast<double>().normalized();
  const VectorXd fisher = solve_symmetric(mix * mix.transpose(), VectorXd::Unit(4, 2)).normalized();
  EXPECT_NEAR(std::abs(found.dot(fisher)), 1, 1e-3);
}

// A bit's threshold is the best of its projection, whatever the projection: no other bias makes fewer errors.
TEST(LdaHash, NoOtherBiasMakesFewerErrors) {
  const LdaExample e = two_classes(120);
  const ClassLabels labels = number_classes(e.labels, "m");
  for (const char* more : {"rotations", "eigenvectors"}) {
    const Model model = train(e.x, {.method = "lda-hash", .bits = 4, .set = {{"more", more}}, .labels = e.labels});
    Threads threads(1);
    const MatrixXf h = outputs_of(std::get<Network>(model.function), e.x, threads);
    for (const auto& bit : h.rowwise()) {
      const std::vector<float> values(bit.begin(), bit.end());
      const double own = errors_at(0, values, labels);
      for (const float value : values) EXPECT_LE(own, errors_at(static_cast<double>(value), values, labels) + 1e-9);
    }
  }
}

TEST(LdaHash, MoreBitsThanDirections) {
  const LdaExample e = two_classes();
  // One direction for two classes: every further bit is the same but for its sign.
  const Codes codes = encode(train(e.x, {.method = "lda-hash", .bits = 6, .labels = e.labels}), e.x);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    EXPECT_TRUE(codes[i][0] == codes[0][0] || (codes[i][0] ^ codes[0][0]) == 0x3f);
  }
  // Eigenvectors end with the dimensions; then they are rotated, too.
  EXPECT_EQ(
      train(e.x, {.method = "lda-hash", .bits = 12, .set = {{"more", "eigenvectors"}}, .labels = e.labels}).bits(),
      12U);
}

TEST(LdaHash, WhatIsNotPossibleIsRefused) {
  const LdaExample e = two_classes();
  EXPECT_BDNN_ERROR(
      train(e.x,
            {.method = "lda-hash", .bits = 2, .set = {{"projection", "dif"}, {"alpha", "1000"}}, .labels = e.labels}),
      misuse, "lower alpha");
  std::vector<std::int64_t> alone(e.x.size());
  for (std::size_t i = 0; i < alone.size(); ++i) alone[i] = static_cast<std::int64_t>(i);
  EXPECT_BDNN_ERROR(train(e.x, {.method = "lda-hash", .bits = 2, .labels = alone}), misuse,
                    "no two of the 400 labelled samples share a label");
}

}  // namespace
}  // namespace bdnn
