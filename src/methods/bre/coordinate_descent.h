// BRE's coordinate descent: sets one weight at a time to its best value.
//
//     min over W of  sum over i, j of (d_ij - h_ij)^2,   h_ij = the share of bits in which codes i and j differ,
//     bit p of sample i = sgn(f_pi),  f_pi = sum over q of W_pq phi_q(x_i)
//
// As W_pq moves along the line, f_pi changes its sign at one value of it, -(f_pi - W_pq phi_q) / phi_q. Between two
// such breakpoints nothing changes: with all of them sorted, a sweep over the samples, one flip after the other, meets
// every code that the weight can give and knows the objective at each.
//
// With R = L S - sum over the other bits k of b_k b_k^T, the objective falls by 2 / (2 L)^2 of what b_p^T R b_p gains,
// and a flip of b_pi gains -4 b_pi (R b_p)_i + 4 R_ii. (R b_p)_i needs Z b_p, 1^T b_p and the products b_k^T b_p
// (pair_targets.h), which a flip changes by one column of each: O(L) per sample and flip for labels, O(L + D) for
// vectors; and O(m (L + log m)) for the weight, over all m^2 pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "methods/bre/pair_targets.h"

namespace bdnn {

class CoordinateDescent {
 public:
  // features: m x n, a column per anchor. Bit p uses the anchors anchors[p], with the weights in column p of `weights`.
  // The arguments passed by reference must outlive this.
  CoordinateDescent(const PairTargets& targets, const MatrixXf& features,
                    std::vector<std::vector<std::uint32_t>> anchors, MatrixXd weights, Threads& threads);

  // Sets weight q of every bit, bit after bit, to its best value. No step raises the objective.
  void step(std::size_t q);
  // The same for one order of the weights per bit: weight order[p][i] of bit p at step i.
  void step(const std::vector<std::uint32_t>& weight_of_bit);
  // Scales the weights of each bit, by a power of two, which changes no sign.
  void normalise();

  // The mean over all pairs of (d_ij - h_ij)^2.
  double objective() const;
  const MatrixXd& weights() const { return weights_; }
  const MatrixXf& codes() const { return codes_; }  // L x m, -1 and +1

 private:
  // The samples that flip as a weight grows, then those that flip as it shrinks; each in the order in which they do.
  struct Flips {
    std::vector<std::uint64_t> keys;  // falls: 1 bit; distance to the breakpoint: 31, as a float; sample: 32
    std::vector<std::uint64_t> room;
  };
  // The sums that b_p^T R b_p depends on, while bit p changes.
  struct BitSums {
    VectorXd targets;  // Z b_p
    VectorXd bits;     // b_k^T b_p, and 0 for k = p
    double ones;       // 1^T b_p
  };

  void find_flips(std::size_t bit, std::size_t q, Flips& flips) const;
  void step_bit(std::size_t bit, std::size_t q, const Flips& flips);
  double flip(Eigen::Index bit, std::size_t sample, BitSums& sums) const;  // what it gains

  const PairTargets& targets_;
  const MatrixXf& features_;
  std::vector<std::vector<std::uint32_t>> anchors_;
  MatrixXd weights_;  // per bit a column
  Threads& threads_;
  MatrixXd outputs_;       // f: m x L
  MatrixXf codes_;         // B: L x m
  MatrixXd bit_products_;  // B B^T
  MatrixXd target_sums_;   // Z B^T
  VectorXd ones_;          // B 1
};

}  // namespace bdnn
