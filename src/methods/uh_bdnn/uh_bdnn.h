// UH-BDNN: unsupervised hashing with a binary deep neural network (Do, Doan and Cheung, ECCV 2016).
//
// A network whose last layer but one, H, is held to be the binary code B, from which the last one rebuilds the sample:
//
//   min over W, c, B of  1/2m ||X - W^(n-1) B - c^(n-1) 1^T||^2 + lambda1/2 sum ||W^(l)||^2
//     + lambda2/2m ||H - B||^2 + lambda3/2 ||H H^T / m - I||^2 + lambda4/2m ||H 1||^2,   B in {-1,+1}^(L x m)
//
// Alternates the (W,c) step, in which the decoder W^(n-1), c^(n-1) has a closed form, and the B step, one bit of all
// samples at a time. docs/methods/uh-bdnn.md describes the whole method.
#pragma once

#include "methods/method.h"

namespace bdnn {

Method uh_bdnn_method();

}  // namespace bdnn
