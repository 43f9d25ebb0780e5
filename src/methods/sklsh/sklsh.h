// Locality-sensitive codes from shift-invariant kernels (Raginsky and Lazebnik, NIPS 2009), known as SKLSH or SIKH.
//
// Each bit is a random wave, cut at a random height:
//
//     b = sgn(cos(w^T (x - mean) + phi) + t),   w ~ N(0, I / sigma^2),  phi ~ U[0, 2 pi),  t ~ U[-1, 1].
//
// The share of bits in which x and y differ tends to a function of the Gaussian kernel exp(-||x - y||^2 / (2 sigma^2))
// alone, which grows as the kernel falls and levels off beyond some sigma. Only sigma is learned: `width` times the
// mean distance of a sample to its 50th nearest neighbour. What remains is a network of a cosine layer and an identity
// layer that adds t.
#pragma once

#include "methods/method.h"

namespace bdnn {

struct SklshOptions {
  int neighbour = 50;  // rank of the neighbour whose distance is the bandwidth; the farthest, if there are fewer
  int sampled = 250;   // samples whose neighbours among all samples are found; 0: all
  double width = 1;    // sigma in units of that distance
};

Method sklsh_method();

}  // namespace bdnn
