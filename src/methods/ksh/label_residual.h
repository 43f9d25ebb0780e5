// What remains of the pairs of labels after the bits found so far (KSH calls it the residue):
//
//     R = L S - sum over k of b_k b_k^T,   S_ij = +1 in the same class, -1 otherwise.
//
// It is m x m and never formed. With one-hot labels Y (classes x m), S = 2 Y^T Y - 1 1^T, so with the bits as rows of B
//
//     y^T R y = L (2 ||Y y||^2 - (1^T y)^2) - ||B y||^2,
//     (R y)_i = L (2 (Y y)_class of i - 1^T y) - b_i^T (B y),
//
// and only the sums of y over the classes, Y y, and over the bits, B y, are needed.
#pragma once

#include "base/blocks.h"
#include "learn/class_labels.h"
#include "linalg/matrix.h"

namespace bdnn {

class LabelResidual {
 public:
  // Y y and B y.
  struct Sums {
    VectorXd classes;
    VectorXd bits;

    Sums& operator+=(const Sums& other) {
      classes += other.classes;
      bits += other.bits;
      return *this;
    }
  };

  // L S, before the first of L bits. All samples are labelled. Memory: 4 L bytes per sample, for B.
  LabelResidual(ClassLabels labels, std::size_t bits);

  std::size_t samples() const { return labels_.of.size(); }
  const ClassLabels& labels() const { return labels_; }

  Sums zero() const;
  // Adds a range of y, which starts at y[0].
  void add(const Range& range, const float* y, Sums& sums) const;
  // y^T R y
  double quadratic(const Sums& sums) const;
  // (R y) of a range.
  void multiply(const Range& range, const Sums& sums, float* ry) const;

  // Subtracts b b^T, where b holds -1 and +1.
  void subtract(const VectorXf& b, Threads& threads);

  // ||H^T H / L - S||^2 / m^2, the mean over pairs, with the bits so far and zeros for the others: ||R||^2 / (L m)^2.
  double objective() const { return objective_; }

 private:
  ClassLabels labels_;
  double bits_;
  Eigen::Index found_ = 0;  // rows of B that are set
  MatrixXf codes_;          // B, L x m
  double objective_ = 1;
};

}  // namespace bdnn
