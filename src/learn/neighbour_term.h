// A term for what codes are searched by: the code of a sample is nearer to those of its neighbours than to others.
//
//   weight * mean over samples a and neighbours p of  -log( e^s(a,p) / (e^s(a,p) + sum over others n of e^s(a,n)) ),
//   s(a, j) = tanh(h_a)^T tanh(h_j) / temperature
//
// tanh(h) stands for the code, and s for its Hamming distance. It is not in the paper, whose terms do not see which
// samples are near each other; docs/methods/uh-bdnn.md has what it gains.
#pragma once

#include <cstdint>
#include <vector>

#include "learn/batch_term.h"

namespace bdnn {

// The nearest training samples of some training samples, by their places in the training set, nearest first.
struct NeighbourLists {
  std::vector<std::uint32_t> anchors;     // whose neighbours they are
  std::size_t per_anchor = 0;             // neighbours in each list ...
  std::size_t near = 0;                   // ... of which the first so many count as near
  std::vector<std::uint32_t> neighbours;  // list after list
};

class NeighbourTerm final : public BatchTerm {
 public:
  NeighbourTerm(NeighbourLists lists, double weight, double temperature);

  // Random anchors, then for each of them some of its near neighbours and some that are a little farther.
  std::vector<std::uint32_t> draw(std::size_t size, Random& random) const override;

  // Of such a batch.
  double evaluate(const float* h, std::size_t bits, std::span<const std::uint32_t> places, float* gradient) override;

 private:
  std::size_t group() const { return 1 + kNear + far_; }

  static constexpr std::size_t kNear = 4;  // neighbours drawn for an anchor
  std::size_t far_;                        // and samples beyond them
  NeighbourLists lists_;
  double weight_;
  double temperature_;
  std::vector<float> t_;
  std::vector<float> scaled_;
  std::vector<float> s_;
  std::vector<float> slope_;
  std::vector<float> anchor_slope_;
};

}  // namespace bdnn
