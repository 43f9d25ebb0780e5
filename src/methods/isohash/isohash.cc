#include "methods/isohash/isohash.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "learn/affine.h"
#include "linalg/decompose.h"

namespace bdnn {
namespace {

using Solver = IsohashOptions::Solver;

// Variances count as equal when none differs from their mean by more than this share of it.
constexpr double kEqual = 1e-9;

// R Lambda R^T
MatrixXd rotated(const MatrixXd& r, const VectorXd& lambda) {
  return small_product(r * lambda.asDiagonal(), r.transpose());
}

// The distance of the variances from their mean, 1.
VectorXd excess_of(const MatrixXd& z) { return (z.diagonal().array() - 1).matrix(); }

// The eigenvectors, largest eigenvalue first, of the matrix closest to z with a diagonal of ones. With the eigenvalues
// Lambda in place of its own, it becomes the closest to that one with these eigenvalues.
MatrixXd lift(MatrixXd z) {
  z.diagonal().setOnes();
  const auto size = static_cast<std::size_t>(z.rows());
  return top_eigenpairs(std::move(z), size).vectors;
}

// A step along -gradient = (Z D - D Z) R, where D = diag(Z) - I. The step doubles after a success and halves until the
// objective falls; at a minimum it becomes 0.
MatrixXd descend(const MatrixXd& r, const MatrixXd& z, const VectorXd& lambda, double& step) {
  constexpr double kShortest = 1e-12;
  const VectorXd excess = excess_of(z);
  const MatrixXd tangent = small_product(z * excess.asDiagonal() - excess.asDiagonal() * z, r);
  for (; step > kShortest; step /= 2) {
    MatrixXd next = closest_rotation(r + step * tangent);
    if (excess_of(rotated(next, lambda)).squaredNorm() < excess.squaredNorm()) {
      step *= 2;
      return next;
    }
  }
  step = 0;
  return r;
}

Trained train_isohash(const TrainingTask& task, const IsohashOptions& options) {
  check_directions(task.x, task.bits);
  const Moments moments = moments_of(task.x, task.threads, task.progress);
  const MatrixXd directions = principal_directions(task.x, moments, task.bits, task.threads).directions;
  const MatrixXd covariance = moments.covariance.selfadjointView<Eigen::Lower>();
  const VectorXd variances = small_product(directions, covariance).cwiseProduct(directions).rowwise().sum();
  MatrixXd r = nearly_isotropic_rotation(variances, options, task.seed, task.progress);
  make_isotropic(variances, r);
  return {affine_network(small_product(r, directions), moments.mean)};
}

}  // namespace

MatrixXd nearly_isotropic_rotation(const VectorXd& variances, const IsohashOptions& options, std::uint64_t seed,
                                   Progress& progress) {
  const VectorXd lambda = variances / variances.mean();
  Random random(seed);
  MatrixXd r = random_rotation(static_cast<std::size_t>(lambda.size()), random);
  const auto total = static_cast<std::size_t>(options.iterations);
  double step = 1;
  for (std::size_t i = 0; i < total; ++i) {
    const MatrixXd z = rotated(r, lambda);
    if (step == 0 || excess_of(z).cwiseAbs().maxCoeff() <= kEqual) {
      progress.update("rotations", total, total);
      break;
    }
    r = options.solver == Solver::lift ? lift(z) : descend(r, z, lambda, step);
    progress.update("rotations", i + 1, total);
  }
  return r;
}

void make_isotropic(const VectorXd& variances, MatrixXd& r) {
  MatrixXd z = rotated(r, variances / variances.mean());
  for (Eigen::Index turn = 1; turn < z.rows(); ++turn) {
    Eigen::Index i = 0;
    Eigen::Index j = 0;
    const double below = z.diagonal().minCoeff(&i) - 1;
    const double above = z.diagonal().maxCoeff(&j) - 1;
    if (std::max(-below, above) <= kEqual) return;
    // Turned by the angle with this tangent, component i has variance 1: above t^2 + 2 z_ij t + below = 0. The root of
    // smaller size, written so that nothing cancels.
    const double t = -below / (z(i, j) + std::copysign(std::sqrt(z(i, j) * z(i, j) - above * below), z(i, j)));
    const double c = 1 / std::sqrt(1 + t * t);
    const auto turn_rows = [&](MatrixXd& m) {
      const Eigen::RowVectorXd mi = m.row(i);
      m.row(i) = c * mi + c * t * m.row(j);
      m.row(j) = c * m.row(j) - c * t * mi;
    };
    turn_rows(r);
    turn_rows(z);
    z.transposeInPlace();
    turn_rows(z);
  }
}

Method isohash_method() {
  return make_method<IsohashOptions>(
      {.name = "isohash",
       .summary = "principal components, rotated to have equal variances",
       .reference = "Kong and Li, Isotropic hashing, NIPS 2012",
       .options = [](IsohashOptions& o) -> OptionList {
         return {word_option("solver", "how the rotation is found", o.solver, {"lift", "flow"}),
                 integer_option("iterations", "iterations of the solver, at most", o.iterations, 0, 100000)};
       },
       .train = train_isohash});
}

}  // namespace bdnn
