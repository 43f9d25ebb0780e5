#include "methods/isohash/isohash.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "expect_error.h"
#include "learn/affine.h"
#include "linalg/decompose.h"

namespace bdnn {
namespace {

using Solver = IsohashOptions::Solver;

// Falling as 1 / i^power, in any unit.
VectorXd falling(Eigen::Index size, double power) {
  VectorXd variances(size);
  for (Eigen::Index i = 0; i < size; ++i) variances[i] = 1000 * std::pow(static_cast<double>(i + 1), -power);
  return variances;
}

// diag(R Lambda R^T), as shares of its mean, by definition.
VectorXd rotated_variances(const VectorXd& variances, const MatrixXd& r) {
  VectorXd result = VectorXd::Zero(r.rows());
  for (Eigen::Index i = 0; i < r.rows(); ++i) {
    for (Eigen::Index k = 0; k < r.cols(); ++k) result[i] += r(i, k) * r(i, k) * variances[k];
  }
  return result / variances.mean();
}

double objective(const VectorXd& variances, const MatrixXd& r) {
  return (rotated_variances(variances, r).array() - 1).square().sum();
}

bool orthogonal(const MatrixXd& r) { return small_gram(r).isIdentity(1e-10); }

class IsotropicRotation : public ::testing::TestWithParam<Solver> {};

TEST_P(IsotropicRotation, EachIterationLowersTheObjective) {
  Progress silent;
  for (const double power : {0.5, 1.0, 2.0}) {
    const VectorXd variances = falling(12, power);
    double last = std::numeric_limits<double>::infinity();
    for (int iterations = 0; iterations <= 30; ++iterations) {
      const MatrixXd r =
          nearly_isotropic_rotation(variances, {.solver = GetParam(), .iterations = iterations}, 3, silent);
      ASSERT_TRUE(orthogonal(r)) << iterations;
      const double now = objective(variances, r);
      ASSERT_LE(now, last * (1 + 1e-9) + 1e-16) << power << ", " << iterations;
      last = now;
    }
    EXPECT_LT(last, 1e-3 * objective(variances, MatrixXd::Identity(12, 12))) << power;
  }
}

TEST_P(IsotropicRotation, ConvergesToEqualVariances) {
  Progress silent;
  const VectorXd variances = falling(16, 1);
  const MatrixXd r = nearly_isotropic_rotation(variances, {.solver = GetParam(), .iterations = 1000}, 1, silent);
  EXPECT_LT((rotated_variances(variances, r).array() - 1).abs().maxCoeff(), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Solvers, IsotropicRotation, ::testing::Values(Solver::lift, Solver::flow),
                         [](const auto& test) { return test.param == Solver::lift ? "lift" : "flow"; });

TEST(MakeIsotropic, EqualisesFromAnyRotation) {
  Random random(9);
  for (const Eigen::Index size : {1, 2, 3, 8, 33}) {
    for (const double power : {0.0, 0.5, 3.0}) {
      const VectorXd variances = falling(size, power);
      MatrixXd r = random_rotation(static_cast<std::size_t>(size), random);
      for (MatrixXd start : {r, MatrixXd(MatrixXd::Identity(size, size))}) {
        make_isotropic(variances, start);
        EXPECT_TRUE(orthogonal(start));
        EXPECT_LT((rotated_variances(variances, start).array() - 1).abs().maxCoeff(), 1e-8) << size << ", " << power;
      }
    }
  }
}

TEST(MakeIsotropic, TurnsTwoComponentsByAnEighth) {
  // By hand: variances 3 and 1 become equal at 45 degrees.
  MatrixXd r = MatrixXd::Identity(2, 2);
  make_isotropic((VectorXd(2) << 3, 1).finished(), r);
  EXPECT_TRUE(r.cwiseAbs().isConstant(std::sqrt(0.5), 1e-12)) << r;
}

Vectors steep_gaussian(std::size_t dimension, std::size_t count) {
  Random random(1);
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t d = 0; d < dimension; ++d) {
      values.push_back(static_cast<float>(30 + random.normal() * static_cast<double>(1 + 2 * d)));
    }
  }
  return {dimension, count, std::move(values)};
}

TEST(Isohash, OutputsHaveEqualVariancesAndDirectionsStayOrthonormal) {
  const Vectors x = steep_gaussian(12, 900);
  Threads threads(1);
  for (const char* solver : {"lift", "flow"}) {
    for (const char* iterations : {"0", "100"}) {
      const Model model =
          train(x, {.method = "isohash", .bits = 7, .set = {{"solver", solver}, {"iterations", iterations}}});
      const auto& network = std::get<Network>(model.function);
      const MatrixXd h = outputs_of(network, x, threads).cast<double>();
      const VectorXd means = h.rowwise().mean();
      const VectorXd variances = (h.colwise() - means).rowwise().squaredNorm() / static_cast<double>(h.cols());
      EXPECT_TRUE(means.isZero(1e-4));
      EXPECT_LT((variances.array() / variances.mean() - 1).abs().maxCoeff(), 1e-5) << solver << " " << iterations;
      const auto& layer = network.layers.front();
      const MatrixXd w = view(layer.weight.data(), layer.inputs, layer.outputs).cast<double>();
      EXPECT_TRUE(small_gram(w).isIdentity(1e-5));
    }
  }
}

TEST(Isohash, RefusesMoreBitsThanTheDataHasDirections) {
  EXPECT_BDNN_ERROR(train(steep_gaussian(6, 100), {.method = "isohash", .bits = 7}), misuse,
                    "7 bits need as many directions, but the vectors have dimension 6");
  EXPECT_BDNN_ERROR(train(steep_gaussian(20, 10), {.method = "isohash", .bits = 10}), misuse,
                    "10 vectors vary in at most 9 directions");
  EXPECT_BDNN_ERROR(train(Vectors(4, 50, std::vector<float>(200, 7.5F)), {.method = "isohash", .bits = 2}), misuse,
                    "all 50 vectors are the same");
  EXPECT_EQ(train(steep_gaussian(6, 100), {.method = "isohash", .bits = 6}).bits(), 6U);
  EXPECT_EQ(train(steep_gaussian(6, 100), {.method = "isohash", .bits = 1}).bits(), 1U);
}

}  // namespace
}  // namespace bdnn
