// Runs under ThreadSanitizer: features and blocks of samples are spread over threads.
#include "learn/tree_booster.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/hash_function.h"

namespace bdnn {
namespace {

Vectors random_vectors(std::size_t dimension, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(dimension * count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return {dimension, count, std::move(values)};
}

// A target that no single feature tells: the sign of a product, with some noise.
std::vector<float> random_bits(const Vectors& x, double noise, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> bits;
  std::vector<float> scratch(x.dimension());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float* sample = x.floats(i, 1, scratch.data());
    const bool positive = (sample[0] * sample[1] + 0.3F * sample[2] > 0) != (random.uniform() < noise);
    bits.push_back(positive ? 1.0F : -1.0F);
  }
  return bits;
}

TEST(BinnedFeatures, ABinIsAboveExactlyWhereTheValueIs) {
  Threads threads(2);
  // Many values, few values, one value, and the largest and smallest that there are.
  constexpr std::size_t kSamples = 3000;
  Random random(1);
  std::vector<float> values;
  const float extremes[] = {std::numeric_limits<float>::max(), -std::numeric_limits<float>::max(), 0.0F, -0.0F, 1e-45F};
  for (std::size_t i = 0; i < kSamples; ++i) {
    values.insert(values.end(), {static_cast<float>(random.normal()), static_cast<float>(random.below(7)), 3.5F,
                                 extremes[random.below(5)]});
  }
  const BinnedFeatures x(Vectors(4, kSamples, values), threads);
  EXPECT_EQ(x.varying(), (std::vector<std::uint32_t>{0, 1, 3}));
  EXPECT_EQ(x.thresholds(0).size(), 255U);
  EXPECT_EQ(x.thresholds(1).size(), 6U);
  for (const std::size_t d : {0, 1, 3}) {
    const auto& thresholds = x.thresholds(d);
    EXPECT_TRUE(std::is_sorted(thresholds.begin(), thresholds.end()));
    std::vector<std::size_t> sizes(thresholds.size() + 1);
    for (std::size_t i = 0; i < kSamples; ++i) {
      const std::uint8_t bin = x.bins(d)[i];
      ++sizes[bin];
      for (std::size_t b = 0; b < thresholds.size(); ++b) {
        ASSERT_EQ(bin > b, values[4 * i + d] > thresholds[b]) << d << ", " << b;
      }
    }
    for (const std::size_t size : sizes) {
      EXPECT_GT(size, 0U) << d;
      EXPECT_TRUE(d != 0 || size <= 30U) << size;  // of 3,000 / 256
    }
  }
}

// sqrt(W+ W-) of both sides, for every sample's value as a threshold.
float least_loss_of_all(const Vectors& x, const NodeSamples& samples, std::size_t node,
                        const std::vector<std::uint32_t>& features) {
  std::vector<float> scratch(x.dimension());
  const auto value = [&](std::size_t i, std::size_t d) { return x.floats(samples.rows[i], 1, scratch.data())[d]; };
  const std::size_t begin = samples.starts[node];
  const std::size_t end = samples.starts[node + 1];
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint32_t d : features) {
    for (std::size_t t = begin; t < end; ++t) {
      const float threshold = value(t, d);
      double sums[2][2] = {};  // side, target
      for (std::size_t i = begin; i < end; ++i) {
        const bool right = value(i, d) > threshold;
        sums[right][1] += static_cast<double>(samples.weights[i] >> 32);
        sums[right][0] += static_cast<double>(samples.weights[i] & 0xffffffffU);
      }
      least = std::min(least, std::sqrt(sums[0][0] * sums[0][1]) + std::sqrt(sums[1][0] * sums[1][1]));
    }
  }
  return static_cast<float>(least);
}

TEST(SplitSearch, EqualsAnExhaustiveSearch) {
  Threads threads(3);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Vectors x = random_vectors(9, 200, seed);
    const std::vector<float> bits = random_bits(x, 0.1, seed);
    const BinnedFeatures binned(x, threads);
    Random random(seed);
    NodeSamples samples;
    samples.starts = {0, 90, 91, 91, 200};  // one sample, and none
    for (const std::uint32_t row : random_rows(200, 200, random)) {
      samples.rows.push_back(row);
      samples.weights.push_back(packed_weight(1 + static_cast<std::uint32_t>(random.below(1 << 20)), bits[row] > 0));
    }
    const std::vector<std::uint32_t> features = {0, 2, 3, 5, 6, 8};
    const std::vector<Split> splits = best_splits(binned, samples, features, threads);
    ASSERT_EQ(splits.size(), 4U);
    EXPECT_FALSE(splits[1].found);
    EXPECT_FALSE(splits[2].found);
    for (const std::size_t node : {0, 3}) {
      ASSERT_TRUE(splits[node].found);
      const float least = least_loss_of_all(x, samples, node, features);
      EXPECT_NEAR(splits[node].loss, least, 1e-5 * static_cast<double>(least)) << seed;
      // and it is the loss of the split that it names
      std::uint64_t sides[2] = {};
      for (std::size_t i = samples.starts[node]; i < samples.starts[node + 1]; ++i) {
        sides[binned.bins(splits[node].feature)[samples.rows[i]] > splits[node].bin] += samples.weights[i];
      }
      EXPECT_EQ(split_loss(sides[0]) + split_loss(sides[1]), splits[node].loss);
    }
  }
}

struct Fitted {
  BoostedTrees function;
  std::vector<float> outputs;
  std::vector<double> losses;
};

Fitted fit(const Vectors& x, const std::vector<float>& bits, const BoostingOptions& options, int thread_count = 1) {
  Threads threads(thread_count);
  const BinnedFeatures binned(x, threads);
  TreeBooster booster(binned, options, threads);
  Fitted fitted{{x.dimension(), 1, options.trees, options.depth, {}, {}, {}}, {}, {}};
  Random random(1);
  booster.fit(bits, random, fitted.function, fitted.outputs, &fitted.losses);
  return fitted;
}

TEST(TreeBooster, NoTreeRaisesTheLoss) {
  const Vectors x = random_vectors(8, 2500, 1);
  const std::vector<float> bits = random_bits(x, 0.1, 2);
  for (const BoostingOptions& options :
       {BoostingOptions{30, 3, 8, 1}, BoostingOptions{30, 1, 2, 1}, BoostingOptions{30, 4, 4, 0.5}}) {
    const Fitted fitted = fit(x, bits, options);
    ASSERT_EQ(fitted.losses.size(), 30U);
    EXPECT_LE(fitted.losses.front(), 1);
    for (std::size_t t = 1; t < 30; ++t) EXPECT_LE(fitted.losses[t], fitted.losses[t - 1] * (1 + 1e-12)) << t;
    EXPECT_LT(fitted.losses.back(), 0.95);
    double loss = 0;
    for (std::size_t i = 0; i < bits.size(); ++i) loss += std::exp(-static_cast<double>(bits[i] * fitted.outputs[i]));
    EXPECT_NEAR(loss / 2500, fitted.losses.back(), 1e-4 * fitted.losses.back());
  }
}

TEST(TreeBooster, TheFirstSplitIsTheBestOne) {
  // One sample in ten is positive, those above 2 in feature 1.
  const std::size_t count = 100;
  std::vector<float> values;
  std::vector<float> bits;
  for (std::size_t i = 0; i < count; ++i) {
    const bool positive = i % 10 == 3;
    values.insert(values.end(), {static_cast<float>(i), positive ? 3.0F : 1.0F});
    bits.push_back(positive ? 1.0F : -1.0F);
  }
  const Fitted fitted = fit(Vectors(2, count, values), bits, {1, 1, 2, 1});
  EXPECT_EQ(fitted.function.features, std::vector<std::uint32_t>{1});
  EXPECT_EQ(fitted.function.thresholds, std::vector<float>{2});
  // 1/2 ln((W+ + 1/2) / (W- + 1/2))
  EXPECT_NEAR(fitted.function.leaves.at(0), 0.5 * std::log(0.5 / 90.5), 1e-6);
  EXPECT_NEAR(fitted.function.leaves.at(1), 0.5 * std::log(10.5 / 0.5), 1e-6);
}

TEST(TreeBooster, OutputsAreThoseOfTheEncoder) {
  const Vectors x = random_vectors(7, 500, 3);
  for (const std::size_t depth : {1, 3, 6}) {
    const Fitted fitted = fit(x, random_bits(x, 0.2, 4), {12, depth, 3, 0.9});
    const HashEncoder encoder{HashFunction(fitted.function)};
    HashEncoder::Scratch scratch;
    const float* outputs = encoder.outputs(x.floats(0, 500, nullptr), 500, scratch);
    for (std::size_t i = 0; i < 500; ++i) ASSERT_EQ(outputs[i], fitted.outputs[i]) << i;
  }
}

TEST(TreeBooster, ThreadsChangeNothing) {
  const Vectors x = random_vectors(11, 5000, 5);
  const std::vector<float> bits = random_bits(x, 0.1, 6);
  const Fitted one = fit(x, bits, {8, 3, 6, 0.9}, 1);
  const Fitted three = fit(x, bits, {8, 3, 6, 0.9}, 3);
  EXPECT_EQ(one.function.features, three.function.features);
  EXPECT_EQ(one.function.thresholds, three.function.thresholds);
  EXPECT_EQ(one.function.leaves, three.function.leaves);
}

TEST(TreeBooster, SeparableSamplesStayFinite) {
  std::vector<float> values;
  std::vector<float> bits;
  for (int i = 0; i < 50; ++i) {
    values.push_back(static_cast<float>(i));
    bits.push_back(i < 20 ? -1.0F : 1.0F);
  }
  const Fitted fitted = fit(Vectors(1, 50, values), bits, {500, 2, 1, 0.9});
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_TRUE(std::isfinite(fitted.outputs[i]));
    EXPECT_GT(fitted.outputs[i] * bits[i], 1);
  }
}

}  // namespace
}  // namespace bdnn
