// ITQ for codes of any length: principal directions, rotated to lie close to binary.
//
// Data that varies in r directions gives at most r bits by one rotation. More bits are split into equal blocks of at
// most r bits; each is rotated from a random start of its own.
#pragma once

#include <cstdint>

#include "learn/affine.h"

namespace bdnn {

class ItqProjection {
 public:
  ItqProjection(const Vectors& x, const Moments& moments, std::size_t bits, Threads& threads);

  // The rotation from the random start of this seed, L x directions(): the codes are the signs of R times projected().
  // For several blocks it is several rotations, one below the other.
  MatrixXd rotation(int rotations, std::uint64_t seed, Progress& progress) const;

  const MatrixXf& projected() const { return v_; }            // directions() x m
  const MatrixXd& directions() const { return directions_; }  // rows of length D

 private:
  std::size_t bits_;
  std::size_t blocks_;
  MatrixXd directions_;
  MatrixXf v_;
  Threads& threads_;
};

}  // namespace bdnn
