// Binary reconstructive embedding (Kulis and Darrell, NIPS 2009).
//
// Codes whose Hamming distances reproduce given distances:
//
//     min over W of  sum over pairs of (d_ij - h_ij)^2,   h_ij = the share of bits in which codes i and j differ,
//     bit p of x = sgn( sum over q of W_pq kappa(a_pq, x) ),   a_pq random samples, each bit having its own.
//
// bre learns from labels, d = 0 in the same class and 1 otherwise; bre-u from the vectors themselves, centred and of
// unit length, d_ij = 1/2 ||x_i - x_j||^2. Weights are set one after the other, each to its best value
// (coordinate_descent.h).
#pragma once

#include "methods/method.h"

namespace bdnn {

struct BreOptions {
  enum class Kernel : std::uint8_t { linear, gaussian };
  Kernel kernel = Kernel::gaussian;
  int anchors =
      1000;          // random samples that bits draw their anchors from; the default is capped at the number of samples
  int weights = 50;  // per bit
  double width = 0.25;  // of the Gaussians: exp(-d^2 / (width * mean squared distance))
  int cycles = 10;      // over all weights, at most
};

struct SupervisedBreOptions : BreOptions {
  int per_class = 0;  // random samples of each class to learn from; 0: all
};

struct UnsupervisedBreOptions : BreOptions {
  int samples = 5000;  // random samples to learn from; 0: all

  UnsupervisedBreOptions() { kernel = Kernel::linear; }
};

Method bre_method();
Method bre_u_method();

}  // namespace bdnn
