#include "learn/anchors.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "expect_error.h"
#include "learn/moments.h"
#include "model/anchor_form.h"

namespace bdnn {
namespace {

Vectors samples(std::size_t dimension, std::size_t count, double offset) {
  Random random(8);
  std::vector<float> values(dimension * count);
  for (float& value : values) value = static_cast<float>(offset + random.normal());
  return {dimension, count, std::move(values)};
}

TEST(Anchors, TheClosedFormOfTheMeanSquaredDistanceIsTheMeanOverAllPairs) {
  const Vectors x = samples(5, 300, 1000);  // far from the origin, where squares have few digits left
  Threads threads(2);
  const std::vector<float> anchors(x.floats(7, 20, nullptr), x.floats(7, 20, nullptr) + 20 * 5);
  double sum = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    for (std::size_t j = 0; j < 20; ++j) {
      for (std::size_t k = 0; k < 5; ++k) {
        const double difference =
            static_cast<double>(x.floats(i, 1, nullptr)[k]) - static_cast<double>(anchors[j * 5 + k]);
        sum += difference * difference;
      }
    }
  }
  EXPECT_NEAR(mean_squared_distance(x, mean_of(x, threads), anchors, threads), sum / (300 * 20), 1e-6);
}

TEST(Anchors, AreSamplesAndTheirGaussiansFollowTheWidth) {
  const Vectors x = samples(3, 100, 0);
  Threads threads(1);
  const AnchorNetwork narrow = sample_anchors(x, 10, 0.5, 1, threads);
  const AnchorNetwork wide = sample_anchors(x, 10, 2, 1, threads);
  EXPECT_EQ(narrow.anchors, wide.anchors);
  EXPECT_FLOAT_EQ(narrow.gamma, 4 * wide.gamma);
  EncoderScratch scratch;
  // Each anchor is at distance 0 of itself.
  const float* features = AnchorKernel(wide).features(wide.anchors.data(), 10, scratch);
  for (std::size_t j = 0; j < 10; ++j) EXPECT_NEAR(features[j * 10 + j], 1, 1e-6);
}

TEST(Anchors, WhatIsNotPossibleIsRefused) {
  Threads threads(1);
  EXPECT_BDNN_ERROR(sample_anchors(samples(3, 9, 0), 10, 1, 1, threads), misuse, "ask for at most 9 anchors");
  EXPECT_BDNN_ERROR(sample_anchors(Vectors(2, 4, std::vector<float>(8, 5.0F)), 2, 1, 1, threads), misuse,
                    "all 4 vectors are the same");
}

}  // namespace
}  // namespace bdnn
