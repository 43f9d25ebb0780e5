// Iterative quantization (Gong and Lazebnik, CVPR 2011).
//
// Projects the centred data on its L leading principal directions, V, and turns it by the rotation R that brings the
// points closest to the corners of the cube:
//
//     min over B, R of  || B - R V ||^2,   B in {-1,+1}^(L x m),  R orthogonal.
//
// Starting from a random rotation, alternates B = sgn(R V) and R = the rotation closest to B V^T. What remains is a
// network of one affine layer.
#pragma once

#include "methods/method.h"

namespace bdnn {

struct ItqOptions {
  int rotations = 50;  // alternations of B and R; the objective has settled well before
};

Method itq_method();

}  // namespace bdnn
