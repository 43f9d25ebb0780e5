// A term that makes codes suit search: the code of a sample is nearer to those of its near neighbours than to those of
// farther ones, and nearer to these than to the rest.
//
//   sum over levels of  weight * mean over anchors a and neighbours p of the level of
//     -log( e^s(a,p) / (e^s(a,p) + sum over samples n of the batch beyond the level of e^s(a,n)) ),
//   s(a, j) = tanh(h_a)^T tanh(h_j) / temperature
//
// tanh(h) stands for the code, and s for its Hamming distance. It is not in the paper, whose terms do not know which
// samples are near each other; docs/methods/uh-bdnn.md shows what it gains.
#pragma once

#include <cstdint>
#include <vector>

#include "learn/batch_term.h"

namespace bdnn {

// The nearest training samples of some training samples, by their places in the training set, nearest first.
struct NeighbourLists {
  std::vector<std::uint32_t> anchors;     // the samples whose neighbours are listed
  std::size_t per_anchor = 0;             // neighbours in each list ...
  std::size_t near = 0;                   // ... the first of which count as near
  std::vector<std::uint32_t> neighbours;  // list after list
};

// Neighbours of a range of ranks, which should be nearer than all farther samples.
struct NeighbourLevel {
  std::size_t last;    // ranks from the level before up to this one, exclusive
  double weight;       // of the level in the term
  double temperature;  // lower: a sharper distinction
};

class NeighbourTerm final : public BatchTerm {
 public:
  // Levels have ascending ranks, the last within the lists.
  NeighbourTerm(NeighbourLists lists, std::vector<NeighbourLevel> levels);

  // Random anchors, then for each of them some of its neighbours of every level, nearest first.
  std::vector<std::uint32_t> draw(std::size_t size, Random& random) const override;

  // The term on such a batch.
  double evaluate(const float* h, std::size_t bits, std::span<const std::uint32_t> places, float* gradient) override;

 private:
  static constexpr std::size_t kDrawn = 4;  // neighbours of each level in a batch, per anchor

  std::size_t drawn() const { return kDrawn * levels_.size(); }
  double add_level(std::size_t level, std::size_t bits, std::size_t n);

  NeighbourLists lists_;
  std::vector<NeighbourLevel> levels_;  // nearest first
  std::vector<float> t_;                // tanh(h)
  std::vector<float> slope_;            // d term / dt
  std::vector<float> scaled_;           // of a level: t of the anchors / temperature,
  std::vector<float> s_;                // s, anchors x samples, and what becomes of it,
  std::vector<float> level_slope_;      // and d level / dt
  std::vector<float> anchor_slope_;
};

}  // namespace bdnn
