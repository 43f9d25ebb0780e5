// Kernelized locality-sensitive hashing (Kulis and Grauman, ICCV 2009).
//
// Random hyperplanes, as LSH has, in the space of a Gaussian kernel. Its normal directions come from p samples, the
// anchors: the sum of t of them, drawn for each bit, is nearly normal, and K^(-1/2) makes its covariance the identity:
//
//     h = sum_i w_i kappa(a_i, x) - (1/p) w^T K 1,   w = sqrt((p - 1) / t) K_c^(-1/2) e_S,
//
// where K are the kernel's values among the anchors, K_c is K centred (as if the anchors' mean in the kernel's space
// were its origin), and e_S marks the t drawn. Since w^T 1 = 0, the second term is all that is needed to centre x. What
// remains is an affine layer behind the anchors.
#pragma once

#include <cstdint>

#include "linalg/matrix.h"
#include "methods/method.h"

namespace bdnn {

struct KlshOptions {
  int anchors = 300;    // p
  int subset = 30;      // t
  double width = 0.25;  // the kernel is 1/e at the root of `width` times the mean squared distance to the anchors
};

// The weights of all bits, L x p, for the uncentred kernel matrix of the anchors.
MatrixXd klsh_weights(const MatrixXd& kernel, std::size_t bits, std::size_t subset, std::uint64_t seed);

Method klsh_method();

}  // namespace bdnn
