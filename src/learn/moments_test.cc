// Runs under ThreadSanitizer: blocks of samples are summed on several threads.
#include "learn/moments.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "expect_error.h"

namespace bdnn {
namespace {

Vectors far_from_zero(std::size_t dimension, std::size_t count) {
  Random random(1);
  std::vector<float> values(dimension * count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(100.0 + static_cast<double>(i % dimension) + random.normal());
  }
  return {dimension, count, std::move(values)};
}

RC_GTEST_PROP(MomentsProperty, EqualTheNaiveSums, ()) {
  const auto dimension = static_cast<std::size_t>(*rc::gen::inRange(1, 40));
  const auto count = static_cast<std::size_t>(*rc::gen::inRange(1, 5000));
  const Vectors x = far_from_zero(dimension, count);
  Threads threads(2);
  const VectorXd mean = mean_of(x, threads);
  const MatrixXd covariance = covariance_of(x, mean, threads);
  const MatrixXd all = view(x.floats(0, count, nullptr), dimension, count).cast<double>();
  const VectorXd naive_mean = all.rowwise().mean();
  const MatrixXd centred = all.colwise() - naive_mean;
  const MatrixXd naive = centred * centred.transpose() / static_cast<double>(count);
  RC_ASSERT((mean - naive_mean).cwiseAbs().maxCoeff() < 1e-3);
  for (Eigen::Index j = 0; j < covariance.cols(); ++j) {
    for (Eigen::Index i = j; i < covariance.rows(); ++i) RC_ASSERT(std::abs(covariance(i, j) - naive(i, j)) < 1e-4);
  }
}

TEST(Moments, AreTheSameBitForBitForAnyNumberOfThreads) {
  const Vectors x = far_from_zero(37, 5 * 2048 + 3);
  Threads one(1);
  Threads three(3);
  const VectorXd mean = mean_of(x, one);
  EXPECT_EQ(mean, mean_of(x, three));
  const MatrixXd a = covariance_of(x, mean, one);
  const MatrixXd b = covariance_of(x, mean, three);
  EXPECT_TRUE(a.triangularView<Eigen::Lower>().toDenseMatrix() == b.triangularView<Eigen::Lower>().toDenseMatrix());
}

TEST(Moments, AMeanFarFromTheOriginKeepsItsDigits) {
  // Ones and threes around 2 million: a sum of floats would be off by many standard deviations.
  const std::size_t count = 3 * 2048;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 2e6F + (i % 2 == 0 ? 1.0F : 3.0F);
  Threads threads(2);
  EXPECT_EQ(mean_of(Vectors(1, count, values), threads)[0], 2e6 + 2);
}

TEST(Moments, NameTheFirstNumberThatIsNotFinite) {
  Threads threads(2);
  std::vector<float> values(3 * 5000, 1.0F);
  values[3 * 4321 + 2] = std::numeric_limits<float>::quiet_NaN();
  values[3 * 4900 + 1] = std::numeric_limits<float>::infinity();
  EXPECT_BDNN_ERROR(mean_of(Vectors(3, 5000, values), threads), failure, "has nan in row 4321, column 2");
  values[3 * 4321 + 2] = 0;
  EXPECT_BDNN_ERROR(mean_of(Vectors(3, 5000, values), threads), failure, "has inf in row 4900, column 1");
}

}  // namespace
}  // namespace bdnn
