// SH-BDNN: supervised hashing with a binary deep neural network (Do, Doan and Cheung, ECCV 2016).
//
// The network of UH-BDNN without its last layer; codes agree with pairs of labels, S_ij = +1 in the same class, -1
// else:
//
//   min over W, c, B of  w/2m ||H^T H / L - S||^2 + lambda1/2 sum ||W^(l)||^2
//     + lambda2/2m ||H - B||^2 + lambda3/2 ||H H^T / m - I||^2 + lambda4/2m ||H 1||^2,   B in {-1,+1}^(L x m)
//
// S is never formed: the term is a function of H H^T and of the sums of H over the classes, so it costs O(m L^2).
// docs/methods/sh-bdnn.md derives it.
#pragma once

#include "methods/method.h"

namespace bdnn {

Method sh_bdnn_method();

}  // namespace bdnn
