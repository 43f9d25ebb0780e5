// The B step: binary codes that a decoder rebuilds the samples from best, found by flipping one bit at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "linalg/aligned.h"
#include "linalg/matrix.h"
#include "linalg/product.h"

namespace bdnn {

// Lowers, for each of `count` samples on its own, b^T G b - 2 q^T b over b in {-1, +1}^L: with G = W^T W and
// q = W^T (x - c) + lambda2 h, that is ||x - W b - c||^2 + lambda2 ||h - b||^2 up to a constant.
// Bits are taken in turn, b_k = sgn(q_k - sum_{j != k} G_kj b_j), until nothing changes or `sweeps` turns are over.
// A bit that both values serve equally well stays as it is (sgn(0) = +1 where it was 0), so b never gets worse.
//
// Once no single flip helps, `local_search` rounds follow: each flips a few bits at once, descends from there, and
// keeps the better code. The same random bits are used for every sample, so a code does not depend on other samples.
//
// q and b are L x count; each column of b holds a code to start from, or zeros, and receives the result.
class CodeDescent {
 public:
  // Working memory, to be kept between calls. Not shared by threads.
  struct Scratch {
    std::vector<float> r;
    AlignedBuffer<float> floats;
    std::vector<std::uint64_t> masks;
  };

  CodeDescent(const MatrixXd& gram, int sweeps, int local_search = 0);

  void run(const float* q, std::size_t count, float* b, Scratch& scratch) const;
  void run(const float* q, std::size_t count, float* b) const;

 private:
  std::size_t bits_;
  std::size_t stride_;
  int sweeps_;
  std::size_t flips_;                 // per round of the local search
  std::vector<std::uint32_t> kicks_;  // the bits that the rounds flip
  AlignedBuffer<float> gram_;         // with a zero diagonal, columns stride_ apart, and a column of zeros after them
  PackedMatrix<float> product_;       // the same, to multiply by
};

}  // namespace bdnn
