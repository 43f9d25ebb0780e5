// One bit of KSH: the weights w of b = sgn(Z^T w) for which b^T R b is large, Z holding the features of the samples.
//
// First without the sign: the leading eigenvector of Z R Z^T. Then, starting there, with a sigmoid in place of the
// sign,
//
//     min over w of  f(w) = - y^T R y / m^2,   y = 2 / (1 + exp(-Z^T w)) - 1,
//
// by Nesterov's accelerated gradient, whose step size is halved until the quadratic bound at the step holds.
#pragma once

#include "methods/ksh/label_residual.h"

namespace bdnn {

class BitSearch {
 public:
  // Z is features x m. Both must outlive this.
  BitSearch(const MatrixXf& z, const LabelResidual& residual, Threads& threads)
      : z_(z), residual_(residual), threads_(threads) {}

  VectorXf outputs(const VectorXd& w) const;  // Z^T w
  VectorXd sums(const VectorXf& v) const;     // Z v
  double quadratic(const VectorXf& y) const;  // y^T R y

  // f, and its gradient, at the w whose outputs are u.
  double smoothed(const VectorXf& u) const;
  double smoothed(const VectorXf& u, VectorXd& gradient) const;

  // The best point of at most `steps` steps from w; `stages` receives f before the first step and after each one.
  VectorXd descend(VectorXd w, int steps, std::vector<double>* stages = nullptr) const;

 private:
  VectorXf squash(const VectorXf& u, LabelResidual::Sums& sums) const;

  const MatrixXf& z_;
  const LabelResidual& residual_;
  Threads& threads_;
};

VectorXf signs_of(const VectorXf& u);

}  // namespace bdnn
