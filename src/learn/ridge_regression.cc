#include "learn/ridge_regression.h"

#include "linalg/decompose.h"
#include "linalg/product.h"

namespace bdnn {
namespace {
constexpr Eigen::Index kLarge = 400;  // columns, above which Eigen takes most of the time of a round

// W^T W
MatrixXd gram_of(const MatrixXd& w) {
  if (w.cols() < kLarge) return small_gram(w);
  const MatrixXd rows = w.transpose();
  const auto size = static_cast<std::size_t>(w.cols());
  MatrixXd gram = MatrixXd::Zero(w.cols(), w.cols());
  add_gram_lower(rows.data(), size, size, static_cast<std::size_t>(w.rows()), gram.data(), size);
  return gram.selfadjointView<Eigen::Lower>();
}
}  // namespace

RidgeSums::RidgeSums(std::size_t features, std::size_t dimension) {
  const auto l = static_cast<Eigen::Index>(features);
  const auto d = static_cast<Eigen::Index>(dimension);
  bb = MatrixXd::Zero(l, l);
  b = VectorXd::Zero(l);
  bx = MatrixXd::Zero(l, d);
  x = VectorXd::Zero(d);
}

RidgePartialSums::RidgePartialSums(std::size_t features, std::size_t dimension) : rest_(features, dimension) {
  bb_ = MatrixXf::Zero(rest_.bb.rows(), rest_.bb.cols());
  bx_ = MatrixXf::Zero(rest_.bx.rows(), rest_.bx.cols());
}

void RidgePartialSums::clear() {
  bb_.setZero();
  bx_.setZero();
  rest_.b.setZero();
  rest_.x.setZero();
  rest_.squares = 0;
  rest_.samples = 0;
}

void RidgePartialSums::add(const float* x, const float* b, std::size_t count) {
  const auto features = static_cast<std::size_t>(bb_.rows());
  const auto dimension = static_cast<std::size_t>(bx_.cols());
  add_gram_lower(b, features, features, count, bb_.data(), features);
  add_product_transposed(b, features, features, x, dimension, dimension, count, bx_.data(), features);
  rest_.b += view(b, features, count).rowwise().sum().cast<double>();
  rest_.x += view(x, dimension, count).cast<double>().rowwise().sum();
  rest_.squares += view(x, dimension, count).cast<double>().squaredNorm();
  rest_.samples += static_cast<double>(count);
}

void RidgePartialSums::assign_to(RidgeSums& sum) const {
  sum.bb = MatrixXf(bb_.selfadjointView<Eigen::Lower>()).cast<double>();
  sum.bx = bx_.cast<double>();
  sum.b = rest_.b;
  sum.x = rest_.x;
  sum.squares = rest_.squares;
  sum.samples = rest_.samples;
}

RidgeSums& RidgeSums::operator+=(const RidgeSums& other) {
  bb += other.bb;
  bx += other.bx;
  b += other.b;
  x += other.x;
  squares += other.squares;
  samples += other.samples;
  return *this;
}

RidgeRegression fit_ridge(const RidgeSums& sums, double lambda) {
  // With c = mean(x) - W mean(b), what remains is W (cov(b) + lambda I) = cov(x, b).
  const double m = sums.samples;
  const VectorXd mean_b = sums.b / m;
  const VectorXd mean_x = sums.x / m;
  MatrixXd covariance = sums.bb / m - mean_b * mean_b.transpose();
  // Features that are constant or equal would leave it singular without a weight decay.
  covariance.diagonal().array() += std::max(lambda, 1e-6);
  const MatrixXd cross = sums.bx / m - mean_b * mean_x.transpose();
  std::optional<MatrixXd> solved;
  if (covariance.rows() >= kLarge) solved = solve_positive_definite(covariance, cross);
  if (!solved) solved = solve_symmetric(covariance, cross);
  const MatrixXd w = solved->transpose();
  RidgeRegression regression;
  regression.w = w.cast<float>();
  regression.c = (mean_x - regression.w.cast<double>() * mean_b).cast<float>();
  return regression;
}

double mean_squared_error(const RidgeSums& sums, const RidgeRegression& regression) {
  const MatrixXd w = regression.w.cast<double>();
  const VectorXd c = regression.c.cast<double>();
  // ||X||^2 - 2 <X, WB + c1> + ||WB + c1||^2
  const double cross = (sums.bx.transpose().cwiseProduct(w)).sum() + sums.x.dot(c);
  const double rebuilt =
      gram_of(w).cwiseProduct(sums.bb).sum() + 2 * c.dot(w * sums.b) + sums.samples * c.squaredNorm();
  return (sums.squares - 2 * cross + rebuilt) / (2 * sums.samples);
}

}  // namespace bdnn
