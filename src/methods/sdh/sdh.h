// Supervised Discrete Hashing (Shen, Shen, Liu and Shen, CVPR 2015).
//
// Codes from which a linear classifier finds the class, and which Gaussians around anchors predict:
//
//     min over B, W, P, c of  ||Y - W^T B||^2 + lambda ||W||^2 + nu ||B - F(X)||^2,   B in {-1,+1}^(L x m),
//     F(x) = P^T phi(x) + c,   phi_j(x) = exp(-gamma ||x - a_j||^2)
//
// Y holds one-hot labels. Starting from random B, three steps alternate: W by ridge regression from codes to labels (G
// step), P and c by ridge regression from phi to codes (F step), and the bits of B in turn (B step,
// coding/code_descent.h). With the hinge loss, W holds one linear SVM per class in place of the first two terms, and
// the B step is the paper's closed form, b = sgn(F(x) + 1/(2 nu) sum over classes c of (w_own - w_c)), which need not
// lower the loss. What remains is anchors with a network of one affine layer behind them: the code of x is sgn(F(x)).
#pragma once

#include "methods/method.h"

namespace bdnn {

struct SdhOptions {
  enum class Loss { squared, hinge };

  int anchors = 1000;           // random samples; the default is capped at the number of samples
  std::optional<double> width;  // of the Gaussians (learn/anchors.h); nullopt: chosen on held-out samples
  Loss loss = Loss::squared;    // of the classifier
  double lambda = 1;            // decay of W; of an SVM, 1 / C
  double nu = 1e-5;             // weight of the distance between codes and predictions
  double decay = 1e-4;          // of P, as a share of the mean variance of phi
  int iterations = 5;           // of the three steps
};

Method sdh_method();

}  // namespace bdnn
