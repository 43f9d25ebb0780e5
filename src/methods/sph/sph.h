// Spherical Hashing (Heo, Lee, He, Chang and Yoon, CVPR 2012).
//
// A bit says whether a vector lies in a sphere, of pivot p_k and radius t_k:
//
//     h_k(x) = t_k - ||x - p_k||,   b = sgn(h).
//
// The spheres are placed so that, of m samples, each holds a half and each pair shares a quarter: bits are balanced,
// and pairs of them independent. With o_kl samples in both spheres, pivot l moves pivot k by the force
//
//     1/2 (o_kl - m/4) / (m/4) (p_k - p_l);
//
// all pivots move by the mean of their forces, radii follow, and so on until overlaps are close to m/4. What remains is
// a network behind anchors, which are the pivots.
#pragma once

#include "methods/method.h"

namespace bdnn {

struct SphOptions {
  int pivot_samples = 10;        // a pivot starts as the mean of this many random samples
  double overlap_error = 0.1;    // stop when |o_kl - m/4| is on average at most this share of m/4 ...
  double overlap_spread = 0.15;  // ... and the standard deviation of o_kl at most this share
  int iterations = 100;          // moves of the spheres, at most
  int samples = 0;               // place the spheres by a random sample of this size; 0: by all samples
};

Method sph_method();

}  // namespace bdnn
