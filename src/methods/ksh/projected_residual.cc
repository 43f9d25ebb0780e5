#include "methods/ksh/projected_residual.h"

#include "base/blocks.h"
#include "linalg/decompose.h"

namespace bdnn {

ProjectedResidual::ProjectedResidual(const MatrixXf& z, const ClassLabels& labels, std::size_t bits, Threads& threads) {
  MatrixXd zy = MatrixXd::Zero(z.rows(), static_cast<Eigen::Index>(labels.classes));
  sum_over_samples(threads, labels.of.size(), zy, zy, [&](const Range& range, MatrixXd& sum) {
    for (std::size_t i = range.first; i < range.first + range.count; ++i) {
      sum.col(labels.of[i]) += z.col(static_cast<Eigen::Index>(i)).cast<double>();
    }
  });
  const VectorXd z1 = zy.rowwise().sum();
  value_ = 2 * small_product(zy, zy.transpose()) - z1 * z1.transpose();
  value_ *= static_cast<double>(bits);
}

}  // namespace bdnn
