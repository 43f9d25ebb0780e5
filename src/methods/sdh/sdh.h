// Supervised Discrete Hashing (Shen, Shen, Liu and Shen, CVPR 2015).
//
// Codes from which a linear classifier finds the class, and which Gaussians around anchors predict:
//
//     min over B, W, P, c of  ||Y - W^T B||^2 + lambda ||W||^2 + nu ||B - F(X)||^2,   B in {-1,+1}^(L x m),
//     F(x) = P^T phi(x) + c,   phi_j(x) = exp(-gamma ||x - a_j||^2)
//
// Y holds one-hot labels. Three steps alternate, from random B on: W by ridge regression from codes to labels (G step),
// P and c by ridge regression from phi to codes (F step), and the bits of B in turn (B step, coding/code_descent.h).
// What remains is anchors with a network of one affine layer behind them: the code of x is sgn(F(x)).
#pragma once

#include "methods/method.h"

namespace bdnn {

struct SdhOptions {
  int anchors = 1000;           // random samples; all where there are fewer
  std::optional<double> width;  // of the Gaussians (learn/anchors.h); none: chosen on held-out samples
  double lambda = 1;            // decay of W
  double nu = 1e-5;             // weight of the distance of codes and predictions
  double decay = 1e-4;          // of P, as a share of the mean variance of phi
  int iterations = 5;           // of the three steps
};

Method sdh_method();

}  // namespace bdnn
