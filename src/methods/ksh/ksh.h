// Kernel-based supervised hashing (Liu, Wang, Ji, Jiang and Chang, CVPR 2012).
//
// Codes whose inner products agree with pairs of labels, S_ij = +1 in the same class, -1 otherwise:
//
//     min over A of  || H^T H / L - S ||^2,   H = sgn(A (phi(X) - mean)),
//
// where phi(x) holds Gaussians at anchors, which are random samples. Bits are found one after the other: bit k
// maximises b^T R b, where R = L S - (b_1 b_1^T + ... + b_(k-1) b_(k-1)^T) is what the earlier ones leave. First by the
// leading eigenvector, without the sign; then by gradient steps, with a sigmoid in its place; the better of the two is
// kept. R is m x m and never formed (label_residual.h): the cost is linear in the samples.
#pragma once

#include "methods/method.h"

namespace bdnn {

struct KshOptions {
  int anchors = 300;    // the default is capped at the number of samples
  double width = 2;     // of the Gaussians: exp(-d^2 / (width * mean squared distance))
  int per_class = 0;    // random samples of each class to learn from; 0: all
  int steps = 100;      // gradient steps per bit, at most
  double ridge = 1e-6;  // added to the variances of the features, as a share of the largest
};

Method ksh_method();

}  // namespace bdnn
