// Runs under ThreadSanitizer: threads share the steps.
#include "learn/rbm.h"

#include <gtest/gtest.h>

#include <cmath>

namespace bdnn {
namespace {

double softplus(double z) { return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z)); }

// log of the sum over h of e^-E(v, h), for v in {0,1}^n.
double log_weight(const Rbm& rbm, unsigned v) {
  double sum = 0;
  for (std::size_t i = 0; i < rbm.visible; ++i) sum += (v >> i & 1) * static_cast<double>(rbm.b[i]);
  for (std::size_t j = 0; j < rbm.hidden; ++j) {
    double z = rbm.c[j];
    for (std::size_t i = 0; i < rbm.visible; ++i) z += (v >> i & 1) * static_cast<double>(rbm.w[i * rbm.hidden + j]);
    sum += softplus(z);
  }
  return sum;
}

// The probabilities of all 2^n visible vectors, by enumeration.
std::vector<double> probabilities(const Rbm& rbm) {
  std::vector<double> p;
  double sum = 0;
  for (unsigned v = 0; v < 1U << rbm.visible; ++v) {
    p.push_back(std::exp(log_weight(rbm, v)));
    sum += p.back();
  }
  for (auto& value : p) value /= sum;
  return p;
}

constexpr unsigned kPatterns[] = {0b000111, 0b111000, 0b101010};

std::vector<float> patterns(std::size_t samples) {
  std::vector<float> v;
  for (std::size_t i = 0; i < samples; ++i) {
    for (unsigned bit = 0; bit < 6; ++bit) v.push_back(static_cast<float>(kPatterns[i % 3] >> bit & 1));
  }
  return v;
}

TEST(ContrastiveDivergence, LearnsADistributionKnownInFull) {
  Random random(1);
  Threads threads(1);
  Rbm rbm(6, 8, 0.1, random);
  ContrastiveDivergence divergence(rbm, {}, threads);
  const std::vector<float> v = patterns(120);
  const auto mean_log_likelihood = [&] {
    const std::vector<double> p = probabilities(rbm);
    return (std::log(p[kPatterns[0]]) + std::log(p[kPatterns[1]]) + std::log(p[kPatterns[2]])) / 3;
  };
  EXPECT_NEAR(mean_log_likelihood(), -std::log(64), 0.5);
  const double first = divergence.step(v.data(), 120, 0.1, random);
  double last = 0;
  for (int step = 0; step < 1000; ++step) last = divergence.step(v.data(), 120, 0.1, random);
  EXPECT_LT(last, first / 10);
  EXPECT_GT(mean_log_likelihood(), -std::log(3) - 1);  // -log(3) is the best there is
}

TEST(ContrastiveDivergence, OnTheAverageItStepsAlongItsStatistics) {
  // The expected step by enumeration of what the hidden units may be: <p(h|v) v^T> - E over h of <p(h|v') v'^T>.
  Random random(2);
  Threads threads(1);
  const Rbm rbm(2, 2, 0.7, random);
  const float v[] = {1, 0};
  const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
  const auto hidden = [&](const double* x, std::size_t j) {
    return sigmoid(static_cast<double>(rbm.w[j]) * x[0] + static_cast<double>(rbm.w[2 + j]) * x[1]);
  };
  const double data[] = {1, 0};
  double expected[4] = {};
  for (unsigned h = 0; h < 4; ++h) {
    double p = 1;
    for (std::size_t j = 0; j < 2; ++j) p *= (h >> j & 1) != 0 ? hidden(data, j) : 1 - hidden(data, j);
    double rebuilt[2];
    for (std::size_t i = 0; i < 2; ++i) {
      rebuilt[i] =
          sigmoid((h & 1) * static_cast<double>(rbm.w[i * 2]) + (h >> 1 & 1) * static_cast<double>(rbm.w[i * 2 + 1]));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        expected[i * 2 + j] += p * (hidden(data, j) * data[i] - hidden(rebuilt, j) * rebuilt[i]);
      }
    }
  }
  double mean[4] = {};
  constexpr int kTrials = 20000;
  constexpr double kRate = 0.5;
  for (int trial = 0; trial < kTrials; ++trial) {
    Rbm moved = rbm;
    ContrastiveDivergence(moved, {.decay = 0}, threads).step(v, 1, kRate, random);
    for (std::size_t i = 0; i < 4; ++i) mean[i] += static_cast<double>(moved.w[i] - rbm.w[i]) / kRate / kTrials;
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(mean[i], expected[i], 0.01) << i;
}

TEST(ContrastiveDivergence, RebuildsGaussianDataBetterAndBetter) {
  // Points near a line in the plane.
  Random random(3);
  std::vector<float> v;
  for (int i = 0; i < 500; ++i) {
    const double along = random.normal();
    v.push_back(static_cast<float>(1.2 * along + 0.1 * random.normal()));
    v.push_back(static_cast<float>(-0.7 * along + 0.1 * random.normal()));
  }
  Threads threads(1);
  Rbm rbm(2, 16, 0.01, random);
  ContrastiveDivergence divergence(rbm, {.units = VisibleUnits::gaussian}, threads);
  const double first = divergence.step(v.data(), 500, 0.01, random);
  double last = 0;
  for (int step = 0; step < 1000; ++step) last = divergence.step(v.data(), 500, 0.01, random);
  EXPECT_LT(last, first / 2);
}

TEST(ContrastiveDivergence, ThreadsChangeNothing) {
  const std::vector<float> v = patterns(300);
  std::vector<Rbm> after;
  for (const int count : {1, 3}) {
    Random random(4);
    Threads threads(count);
    Rbm rbm(6, 200, 0.1, random);
    ContrastiveDivergence divergence(rbm, {}, threads);
    for (int step = 0; step < 5; ++step) divergence.step(v.data(), 300, 0.1, random);
    after.push_back(rbm);
  }
  EXPECT_EQ(after[0].w, after[1].w);
  EXPECT_EQ(after[0].b, after[1].b);
  EXPECT_EQ(after[0].c, after[1].c);
}

TEST(ContrastiveDivergence, WeightsDecayWithoutData) {
  // All-zero samples and biases that rebuild them: what moves the weights is their decay.
  Random random(5);
  Threads threads(1);
  Rbm rbm(3, 4, 0.1, random);
  rbm.b = {-100, -100, -100};
  const std::vector<float> before = rbm.w;
  const std::vector<float> v(3, 0.0F);
  ContrastiveDivergence(rbm, {.decay = 0.5}, threads).step(v.data(), 1, 0.2, random);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(rbm.w[i], before[i] * 0.9F, 1e-6F);
}

}  // namespace
}  // namespace bdnn
