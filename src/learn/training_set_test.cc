#include "learn/training_set.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/simd_target.h"

namespace bdnn {
namespace {

class TrainingSetOnTarget : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_target(GetParam()); }
  void TearDown() override { force_simd_target(""); }
};

template <class T>
void expect_scaled_samples(std::size_t dimension, Element element) {
  Random random(dimension);
  constexpr std::size_t kSamples = 9;
  std::vector<T> values(kSamples * dimension);
  for (T& value : values) value = static_cast<T>(random.below(256));
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  const Vectors x({dimension, kSamples, element}, {bytes, [](const std::byte*) {}});
  VectorXd offset(dimension);
  for (double& entry : offset) entry = 100 * random.normal();
  const double factor = 0.37;
  const TrainingSet set(x, {8, 0, 3, 3, 5}, {offset, factor});
  ASSERT_EQ(set.size(), 5U);

  const auto expected = [&](std::size_t place, std::size_t d) {
    const auto value = static_cast<float>(values[set.rows()[place] * dimension + d]);
    return (value - static_cast<float>(offset[static_cast<Eigen::Index>(d)])) * static_cast<float>(factor);
  };
  std::vector<float> floats(3 * dimension);
  std::vector<double> doubles(3 * dimension);
  std::vector<float> ordered(3 * dimension);
  const std::uint32_t order[] = {4, 0, 2};
  set.load(1, 3, floats.data());
  set.load(1, 3, doubles.data());
  set.load(order, 3, ordered.data());
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t d = 0; d < dimension; ++d) {
      ASSERT_EQ(floats[i * dimension + d], expected(1 + i, d)) << dimension << " dimensions, entry " << d;
      ASSERT_EQ(doubles[i * dimension + d], static_cast<double>(expected(1 + i, d)));
      ASSERT_EQ(ordered[i * dimension + d], expected(order[i], d));
    }
  }
  EXPECT_DOUBLE_EQ(set.passes(), 9.0 / 5);
}

TEST_P(TrainingSetOnTarget, LoadsScaledSamplesOfEveryElementType) {
  for (std::size_t dimension = 1; dimension <= 70; ++dimension) {
    expect_scaled_samples<float>(dimension, Element::f32);
    expect_scaled_samples<double>(dimension, Element::f64);
    expect_scaled_samples<std::uint8_t>(dimension, Element::u8);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, TrainingSetOnTarget, ::testing::ValuesIn(simd_targets()),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace bdnn
