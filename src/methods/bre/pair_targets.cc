#include "methods/bre/pair_targets.h"

#include <utility>

#include "linalg/product.h"

namespace bdnn {

PairTargets::PairTargets(ClassLabels labels)
    : samples_(labels.of.size()),
      size_(static_cast<Eigen::Index>(labels.classes)),
      labels_(std::move(labels)),
      squared_norm_(static_cast<double>(samples_) * static_cast<double>(samples_)) {}

// ||S||^2 = 4 ||Z Z^T||^2 - 4 ||Z 1||^2 + m^2
PairTargets::PairTargets(MatrixXf unit_vectors)
    : samples_(static_cast<std::size_t>(unit_vectors.cols())),
      size_(unit_vectors.rows()),
      vectors_(std::move(unit_vectors)) {
  const auto d = static_cast<std::size_t>(size_);
  MatrixXf gram = MatrixXf::Zero(size_, size_);
  add_gram_lower(vectors_.data(), d, d, samples_, gram.data(), d);
  VectorXd sum = VectorXd::Zero(size_);
  for (const auto& z : vectors_.colwise()) {
    sum += z.cast<double>();
    diagonal_.push_back(2 * z.cast<double>().squaredNorm() - 1);
  }
  double squares = 0;
  for (Eigen::Index j = 0; j < size_; ++j) {
    squares += std::pow(static_cast<double>(gram(j, j)), 2);
    squares += 2 * gram.col(j).tail(size_ - j - 1).cast<double>().squaredNorm();
  }
  const auto m = static_cast<double>(samples_);
  squared_norm_ = 4 * squares - 4 * sum.squaredNorm() + m * m;
}

}  // namespace bdnn
