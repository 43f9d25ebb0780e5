// The B step: binary codes that a decoder rebuilds the samples from best, found by flipping one bit at a time.
#pragma once

#include <cstddef>

#include "linalg/matrix.h"

namespace bdnn {

// Lowers, for each of `count` samples on its own, b^T G b - 2 q^T b over b in {-1, +1}^L: with G = W^T W and
// q = W^T (x - c) + lambda2 h, that is ||x - W b - c||^2 + lambda2 ||h - b||^2 up to a constant.
// Bits are taken in turn, b_k = sgn(q_k - sum_{j != k} G_kj b_j), until nothing changes or `sweeps` turns are over.
// A bit that both values serve equally well stays as it is (sgn(0) = +1 where it was 0), so b never gets worse.
//
// q and b are L x count; b holds the codes to start from, or zeros, and receives the result.
class CodeDescent {
 public:
  CodeDescent(const MatrixXd& gram, int sweeps);

  void run(const float* q, std::size_t count, float* b) const;

 private:
  MatrixXf gram_;  // with a zero diagonal
  int sweeps_;
};

}  // namespace bdnn
