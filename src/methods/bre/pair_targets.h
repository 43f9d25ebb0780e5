// The target distances d_ij of codes, as shares of their bits; in terms of inner products S_ij = 1 - 2 d_ij.
//
//     of labels:   d_ij = 0 in the same class, 1 otherwise         z_i the one-hot label of sample i
//     of vectors:  d_ij = 1/2 ||z_i - z_j||^2 = 1 - z_i^T z_j      z_i the sample itself, of unit length
//
// Both are S = 2 Z^T Z - 1 1^T: a product with S is linear in the samples, and no pair has to be left out.
#pragma once

#include "learn/class_labels.h"
#include "linalg/matrix.h"

namespace bdnn {

class PairTargets {
 public:
  explicit PairTargets(ClassLabels labels);     // all samples are labelled
  explicit PairTargets(MatrixXf unit_vectors);  // D x m; each of length 1 or 0

  std::size_t samples() const { return samples_; }
  Eigen::Index size() const { return size_; }  // of z

  double product(std::size_t i, const VectorXd& v) const {  // z_i^T v
    if (vectors_.size() == 0) return v[labels_.of[i]];
    return vectors_.col(static_cast<Eigen::Index>(i)).cast<double>().dot(v);
  }
  void add(std::size_t i, double factor, VectorXd& v) const {  // v += factor z_i
    if (vectors_.size() == 0) {
      v[labels_.of[i]] += factor;
    } else {
      v += factor * vectors_.col(static_cast<Eigen::Index>(i)).cast<double>();
    }
  }
  double diagonal(std::size_t i) const { return diagonal_.empty() ? 1 : diagonal_[i]; }  // S_ii
  double squared_norm() const { return squared_norm_; }                                  // ||S||^2

 private:
  std::size_t samples_;
  Eigen::Index size_;
  ClassLabels labels_;
  MatrixXf vectors_;  // empty: of labels
  std::vector<double> diagonal_;
  double squared_norm_;
};

}  // namespace bdnn
