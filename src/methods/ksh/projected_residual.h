// Z R Z^T for the features Z and KSH's residual R (label_residual.h): features x features, where R is m x m.
//
// With the sums of the features over the classes, Z Y^T, it starts as
//
//     Z (L S) Z^T = L (2 (Z Y^T)(Z Y^T)^T - (Z 1)(Z 1)^T),
//
// and each bit b subtracts (Z b)(Z b)^T.
#pragma once

#include "base/threads.h"
#include "learn/class_labels.h"
#include "linalg/matrix.h"

namespace bdnn {

class ProjectedResidual {
 public:
  // Before the first of L bits. z is features x m, and every sample has a class.
  ProjectedResidual(const MatrixXf& z, const ClassLabels& labels, std::size_t bits, Threads& threads);

  // Subtracts the bit b, given Z b.
  void subtract(const VectorXd& zb) { value_ -= zb * zb.transpose(); }

  const MatrixXd& value() const { return value_; }

 private:
  MatrixXd value_;
};

}  // namespace bdnn
