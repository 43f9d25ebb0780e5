#include "methods/ksh/label_residual.h"

#include <utility>

namespace bdnn {

LabelResidual::LabelResidual(ClassLabels labels, std::size_t bits)
    : labels_(std::move(labels)), bits_(static_cast<double>(bits)), codes_(bits, labels_.of.size()) {}

LabelResidual::Sums LabelResidual::zero() const {
  return {VectorXd::Zero(static_cast<Eigen::Index>(labels_.classes)), VectorXd::Zero(found_)};
}

void LabelResidual::add(const Range& range, const float* y, Sums& sums) const {
  for (std::size_t i = 0; i < range.count; ++i) {
    sums.classes[labels_.of[range.first + i]] += static_cast<double>(y[i]);
  }
  if (found_ == 0) return;
  const auto count = static_cast<Eigen::Index>(range.count);
  const Eigen::Map<const VectorXf> own(y, count);
  const auto codes = codes_.block(0, static_cast<Eigen::Index>(range.first), found_, count);
  sums.bits += (codes * own).cast<double>();
}

double LabelResidual::quadratic(const Sums& sums) const {
  const double sum = sums.classes.sum();
  return bits_ * (2 * sums.classes.squaredNorm() - sum * sum) - sums.bits.squaredNorm();
}

void LabelResidual::multiply(const Range& range, const Sums& sums, float* ry) const {
  const VectorXf by_class = (bits_ * (2 * sums.classes.array() - sums.classes.sum())).cast<float>();
  for (std::size_t i = 0; i < range.count; ++i) ry[i] = by_class[labels_.of[range.first + i]];
  if (found_ == 0) return;
  const auto count = static_cast<Eigen::Index>(range.count);
  const VectorXf by_bit = sums.bits.cast<float>();
  const auto codes = codes_.block(0, static_cast<Eigen::Index>(range.first), found_, count);
  Eigen::Map<VectorXf>(ry, count).noalias() -= codes.transpose() * by_bit;
}

void LabelResidual::subtract(const VectorXf& b, Threads& threads) {
  Sums sums = zero();
  sum_over_samples(threads, samples(), zero(), sums,
                   [&](const Range& block, Sums& partial) { add(block, b.data() + block.first, partial); });
  // ||R - b b^T||^2 = ||R||^2 - 2 b^T R b + m^2
  const auto m = static_cast<double>(samples());
  objective_ += (1 - 2 * quadratic(sums) / (m * m)) / (bits_ * bits_);
  codes_.row(found_++) = b.transpose();
}

}  // namespace bdnn
