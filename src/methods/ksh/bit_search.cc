#include "methods/ksh/bit_search.h"

#include <cmath>
#include <utility>

#include "codes/hamming.h"
#include "linalg/activation.h"

namespace bdnn {
namespace {

// A step that changes f by less ends the descent: the authors' rule at their 2,000 samples.
constexpr double kSettled = 5e-6;

template <class Part>
auto part_of(Part& vector, const Range& range) {
  return vector.segment(static_cast<Eigen::Index>(range.first), static_cast<Eigen::Index>(range.count));
}

}  // namespace

VectorXf signs_of(const VectorXf& u) {
  return u.unaryExpr([](float value) { return sign_of(value); });
}

VectorXf BitSearch::outputs(const VectorXd& w) const {
  const VectorXf rounded = w.cast<float>();
  VectorXf u(z_.cols());
  const std::size_t samples = residual_.samples();
  threads_.for_each(blocks_of(samples), [&](std::size_t block, int) {
    const Range range = block_range(block, samples);
    part_of(u, range).noalias() =
        z_.middleCols(static_cast<Eigen::Index>(range.first), static_cast<Eigen::Index>(range.count)).transpose() *
        rounded;
  });
  return u;
}

VectorXd BitSearch::sums(const VectorXf& v) const {
  DoubleSum total{MatrixXd::Zero(z_.rows(), 1)};
  const VectorXf zero = VectorXf::Zero(z_.rows());
  sum_over_samples(threads_, residual_.samples(), zero, total, [&](const Range& range, VectorXf& sum) {
    sum.noalias() += z_.middleCols(static_cast<Eigen::Index>(range.first), static_cast<Eigen::Index>(range.count)) *
                     part_of(v, range);
  });
  return total.value;
}

double BitSearch::quadratic(const VectorXf& y) const {
  LabelResidual::Sums total = residual_.zero();
  sum_over_samples(
      threads_, residual_.samples(), residual_.zero(), total,
      [&](const Range& range, LabelResidual::Sums& sums) { residual_.add(range, y.data() + range.first, sums); });
  return residual_.quadratic(total);
}

VectorXf BitSearch::squash(const VectorXf& u, LabelResidual::Sums& sums) const {
  VectorXf y = 0.5F * u;  // 2 / (1 + exp(-u)) - 1 = tanh(u / 2)
  const VectorXf no_bias = VectorXf::Zero(static_cast<Eigen::Index>(kSamplesPerBlock));
  sum_over_samples(threads_, residual_.samples(), residual_.zero(), sums,
                   [&](const Range& range, LabelResidual::Sums& partial) {
                     add_bias_and_tanh(no_bias.data(), range.count, 1, y.data() + range.first);
                     residual_.add(range, y.data() + range.first, partial);
                   });
  return y;
}

double BitSearch::smoothed(const VectorXf& u) const {
  LabelResidual::Sums sums = residual_.zero();
  squash(u, sums);
  const auto m = static_cast<double>(residual_.samples());
  return -residual_.quadratic(sums) / (m * m);
}

double BitSearch::smoothed(const VectorXf& u, VectorXd& gradient) const {
  LabelResidual::Sums sums = residual_.zero();
  VectorXf y = squash(u, sums);
  const auto m = static_cast<double>(residual_.samples());
  // d/dw of -y^T R y: -2 Z ((R y) (1 - y^2) / 2)
  threads_.for_each(blocks_of(residual_.samples()), [&](std::size_t block, int) {
    const Range range = block_range(block, residual_.samples());
    VectorXf ry(static_cast<Eigen::Index>(range.count));
    residual_.multiply(range, sums, ry.data());
    auto own = part_of(y, range);
    own = ry.array() * (1 - own.array().square());
  });
  gradient = this->sums(y) / -(m * m);
  return -residual_.quadratic(sums) / (m * m);
}

VectorXd BitSearch::descend(VectorXd w, int steps, std::vector<double>* stages) const {
  constexpr int kHalvings = 50;
  VectorXf u = outputs(w);
  double value = smoothed(u);
  if (stages != nullptr) stages->push_back(value);
  VectorXd best = w;
  double least = value;
  VectorXd before = w;
  VectorXf u_before = u;
  double delta_before = 0;
  double delta = 1;
  double beta = 1;  // one over the step size
  for (int step = 0; step < steps; ++step) {
    // Outputs are linear in the weights: those of every point on the way come from two products.
    const double momentum = (delta_before - 1) / delta;
    const VectorXd v = w + momentum * (w - before);
    const VectorXf u_v = u + static_cast<float>(momentum) * (u - u_before);
    VectorXd gradient;
    const double at_v = smoothed(u_v, gradient);
    const double squared = gradient.squaredNorm();
    const VectorXf slope = outputs(gradient);
    VectorXf u_next;
    double next = 0;
    bool bounded = false;
    for (int halving = 0; halving < kHalvings && !bounded; ++halving) {
      if (halving > 0) beta *= 2;
      u_next = u_v - static_cast<float>(1 / beta) * slope;
      next = smoothed(u_next);
      bounded = next <= at_v - squared / (2 * beta);
    }
    if (!bounded) break;
    before = std::exchange(w, v - gradient / beta);
    u_before = std::exchange(u, std::move(u_next));
    delta_before = std::exchange(delta, (1 + std::sqrt(1 + 4 * delta * delta)) / 2);
    if (stages != nullptr) stages->push_back(next);
    if (next < least) {
      least = next;
      best = w;
    }
    if (std::abs(std::exchange(value, next) - next) <= kSettled) break;
  }
  return best;
}

}  // namespace bdnn
