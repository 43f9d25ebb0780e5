// Spheres that move over fixed samples, as training Spherical Hashing moves them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "bdnn/vectors.h"
#include "linalg/matrix.h"

namespace bdnn {

// L pivots, each with the radius that encloses half of the samples, and the number of samples each pair of spheres
// shares.
//
// Forces point along differences of pivots, so every pivot stays a combination of the first ones, P = A P_0. The
// samples are read once, for P_0 x; from then on a move costs an L x L product per sample, whatever the dimension.
// Memory: 4 L bytes per sample for these products, 4 for its length, and 128 for distances, a few bits at a time.
class Spheres {
 public:
  // `first_pivots` (L x D) and the samples are seen from `centre`. Samples that are all the same raise Error.
  Spheres(const Vectors& x, const VectorXd& centre, const MatrixXd& first_pivots, Threads& threads);

  std::size_t samples() const { return samples_; }

  // o_kl, the number of samples inside both spheres; on the diagonal, inside one.
  const MatrixXd& overlaps() const { return overlaps_; }

  // P <- step P, with new radii and overlaps. `step` is L x L and its rows sum to 1.
  void move(const MatrixXd& step);

  // L x D, seen from the centre.
  MatrixXd pivots() const;

  // The distance of the farthest pivot from the centre, in units of the root mean square distance of the samples.
  double reach() const;

 private:
  void update();
  void measure(Eigen::Index first, Eigen::Index count);
  void set_radius(std::size_t bit, const float* squares, std::vector<float>& scratch);
  void count_overlaps();
  std::uint8_t* inside(std::size_t block, std::size_t bit);

  Threads& threads_;
  std::size_t samples_;
  std::size_t bits_;
  MatrixXd first_pivots_;
  MatrixXd first_gram_;               // P_0 P_0^T
  MatrixXd combination_;              // A
  VectorXd squared_norms_;            // of the pivots
  double mean_square_ = 0;            // of the samples
  MatrixXf products_;                 // P_0 x, L x m
  std::vector<float> norms_;          // ||x||^2
  std::vector<float> squares_;        // ||x - p_k||^2 of some bits: bit after bit
  std::vector<std::uint8_t> inside_;  // a bit per sample; block after block, in each bit after bit
  MatrixXd overlaps_;
};

// The deviation of the overlaps of pairs from m/4, as a share of m/4.
struct OverlapError {
  double mean = 0;       // of |o_kl - m/4|
  double deviation = 0;  // the standard deviation of o_kl
};
OverlapError overlap_error(const MatrixXd& overlaps, std::size_t samples);

// The step that moves every pivot by the mean of the forces on it, which for a pair is 1/2 (o_kl - m/4) / (m/4)
// (p_k - p_l): spheres that share too many samples part, those that share too few come closer.
MatrixXd step_by_forces(const MatrixXd& overlaps, std::size_t samples);

}  // namespace bdnn
