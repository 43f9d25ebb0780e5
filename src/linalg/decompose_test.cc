#include "linalg/decompose.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <limits>

#include "base/random.h"

namespace bdnn {
namespace {

MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  Random random(seed);
  MatrixXd m(rows, columns);
  for (double& entry : m.reshaped()) entry = random.normal();
  return m;
}

TEST(TopEigenpairs, AgreeWithEigen) {
  for (const Eigen::Index n : {1, 2, 7, 40}) {
    const MatrixXd half = random_matrix(n, n, 1);
    const MatrixXd symmetric = half * half.transpose();
    const Eigen::SelfAdjointEigenSolver<MatrixXd> oracle(symmetric);
    for (Eigen::Index k = 1; k <= n; k += 3) {
      const auto pairs = top_eigenpairs(symmetric.triangularView<Eigen::Lower>(), static_cast<std::size_t>(k));
      ASSERT_EQ(pairs.vectors.cols(), k);
      EXPECT_TRUE(pairs.values.isApprox(oracle.eigenvalues().reverse().head(k), 1e-10));
      EXPECT_TRUE((symmetric * pairs.vectors).isApprox(pairs.vectors * pairs.values.asDiagonal(), 1e-9));
      EXPECT_TRUE((pairs.vectors.transpose() * pairs.vectors).isIdentity(1e-10));
      for (const auto& column : pairs.vectors.colwise()) EXPECT_EQ(column.maxCoeff(), column.cwiseAbs().maxCoeff());
    }
  }
}

TEST(OrthonormalBasis, SpansTheColumns) {
  MatrixXd a = random_matrix(9, 4, 5);
  a.col(2) = a.col(0) - a.col(1);  // and stays orthonormal where they depend on each other
  for (const MatrixXd& columns : {a, random_matrix(6, 6, 6), random_matrix(5, 1, 7), MatrixXd(MatrixXd::Zero(3, 2))}) {
    const MatrixXd basis = orthonormal_basis(columns);
    ASSERT_EQ(basis.rows(), columns.rows());
    ASSERT_EQ(basis.cols(), columns.cols());
    EXPECT_TRUE((basis.transpose() * basis).isIdentity(1e-12));
    EXPECT_LT((basis * (basis.transpose() * columns) - columns).norm(), 1e-12);
  }
}

TEST(TopEigenpairs, OfTwoMatrices) {
  for (const Eigen::Index n : {1, 2, 7, 40}) {
    const MatrixXd half_a = random_matrix(n, n, 1);
    const MatrixXd half_b = random_matrix(n, n, 5);
    const MatrixXd a = half_a + half_a.transpose();  // of any signs
    const MatrixXd b = half_b * half_b.transpose() + MatrixXd::Identity(n, n);
    const Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd> oracle(a, b);
    for (Eigen::Index k = 1; k <= n; k += 3) {
      const auto pairs = top_eigenpairs(a.triangularView<Eigen::Lower>(), b.triangularView<Eigen::Lower>(),
                                        static_cast<std::size_t>(k));
      ASSERT_TRUE(pairs);
      EXPECT_TRUE(pairs->values.isApprox(oracle.eigenvalues().reverse().head(k), 1e-9));
      EXPECT_TRUE((a * pairs->vectors).isApprox(b * pairs->vectors * pairs->values.asDiagonal(), 1e-9));
      EXPECT_TRUE((pairs->vectors.transpose() * b * pairs->vectors).isIdentity(1e-9));
    }
  }
  MatrixXd singular = MatrixXd::Identity(3, 3);
  singular(1, 1) = 0;
  EXPECT_FALSE(top_eigenpairs(MatrixXd::Identity(3, 3), singular, 2));
}

TEST(ClosestRotation, OfMoreRowsThanColumnsHasOrthonormalColumns) {
  const MatrixXd c = random_matrix(7, 3, 8);
  const MatrixXd best = closest_rotation(c);
  EXPECT_TRUE((best.transpose() * best).isIdentity(1e-12));
  Random random(9);
  for (int i = 0; i < 200; ++i) {
    const MatrixXd other = random_rotation(7, random).leftCols(3);
    EXPECT_LE((other.transpose() * c).trace(), (best.transpose() * c).trace());
  }
  // It is what zeros to the right of C would give, too.
  MatrixXd padded = MatrixXd::Zero(7, 7);
  padded.leftCols(3) = c;
  EXPECT_TRUE(closest_rotation(padded).leftCols(3).isApprox(best, 1e-10));
}

TEST(ClosestRotation, IsARotationThatNoOtherBeats) {
  const MatrixXd c = random_matrix(6, 6, 2);
  const MatrixXd best = closest_rotation(c);
  EXPECT_TRUE((best.transpose() * best).isIdentity(1e-12));
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    const MatrixXd other = random_rotation(6, random);
    EXPECT_LE((other.transpose() * c).trace(), (best.transpose() * c).trace());
  }
  // A rotation, stretched, is closest to itself.
  const MatrixXd rotation = random_rotation(6, random);
  EXPECT_TRUE(closest_rotation(3.0 * rotation).isApprox(rotation, 1e-12));
}

TEST(InverseCholeskyFactor, WhitensAndIsLowerTriangular) {
  const MatrixXd c = random_matrix(9, 6, 5);
  MatrixXd a = c.transpose() * c;
  MatrixXd lower = a;
  lower.triangularView<Eigen::StrictlyUpper>().setConstant(std::numeric_limits<double>::quiet_NaN());
  const auto m = inverse_cholesky_factor(lower);
  ASSERT_TRUE(m);
  EXPECT_TRUE((*m * a * m->transpose()).isIdentity(1e-10));
  EXPECT_EQ(m->triangularView<Eigen::StrictlyUpper>().toDenseMatrix().norm(), 0);
  a(2, 2) = -1;
  EXPECT_FALSE(inverse_cholesky_factor(a));
}

TEST(RandomRotation, IsOrthogonalAndFollowsTheSeed) {
  Random one(4);
  Random two(4);
  const MatrixXd a = random_rotation(20, one);
  EXPECT_TRUE((a.transpose() * a).isIdentity(1e-12));
  EXPECT_EQ(a, random_rotation(20, two));
  EXPECT_NE(a, random_rotation(20, two));
}

}  // namespace
}  // namespace bdnn
