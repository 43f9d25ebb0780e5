// FastHash's first step: the next bit of all samples, from pairs of labels and the bits before.
//
//     min over z in {-1,+1}^m of  sum over pairs of w_ij loss(d_ij + [z_i != z_j], same class or not)
//
// where d_ij is the Hamming distance so far. Samples of one class that share a code are interchangeable, and their
// pairs have no loss only if they stay together; so the best z is constant on such groups, and the unknowns are groups,
// of which there are few as long as codes follow classes. Solved for whole classes first, then group by group and class
// by class, until no flip of either lowers the objective.
//
// Each sample has as much weight on pairs of its class as on others: w_ij = 1 / n_c, or the mean of 1 / (m - n_c) over
// both classes c. The authors draw as many pairs of either kind for each sample, which is the same on average.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "learn/class_labels.h"

namespace bdnn {

// The loss of a pair at Hamming distance d, with r bits so far.
enum class PairLoss : std::uint8_t {
  // d^2 in the same class, max(0, r/2 - d)^2 otherwise; and a thousandth of the squared loss, without which a bit would
  // be the same for all samples wherever the bits before keep all classes r/2 apart.
  hinge,
  squared,  // KSH's: (2 d)^2 in the same class, (2 (r - d))^2 otherwise
};
double pair_loss(PairLoss loss, bool same_class, double bits, double distance);

// Samples of one class that share a code, and their number.
struct CodeGroup {
  std::int32_t of_class = 0;
  double count = 0;
};

// One bit for groups, given their codes of `bits` bits, one after the other in `codes`.
class GroupedPairs {
 public:
  // class_sizes: samples of each class, among all samples. Memory: 8 bytes per group and class.
  GroupedPairs(std::vector<CodeGroup> groups, std::vector<std::uint8_t> codes, std::size_t bits,
               std::span<const std::size_t> class_sizes, PairLoss loss, Threads& threads);

  // The best found: descend() from the best solution for whole classes, which is exact where there are at most 16; for
  // more, it is the best of descents from `seed`.
  std::vector<std::int8_t> solve(std::uint64_t seed, std::vector<double>* stages = nullptr) const;

  // Flips groups and whole classes in turn as long as that lowers the objective, from z on. `stages` receives the
  // objective of z and after each round.
  std::vector<std::int8_t> descend(std::vector<std::int8_t> z, std::vector<double>* stages = nullptr) const;

  // The mean loss, pairs of the same class and others having equal weight.
  double objective(const std::vector<std::int8_t>& z) const;

  // The better bit of a sample that is in no group, given z of the groups.
  std::int8_t best_bit(std::int32_t of_class, const std::uint8_t* code, const std::vector<std::int8_t>& z) const;

 private:
  struct Fields;

  // The weight of a pair of samples of two classes, times the rise of the loss if their bits differ.
  double coupling(std::int32_t a, std::int32_t b, std::uint16_t distance) const {
    return a == b
               ? same_[distance] * within_[static_cast<std::size_t>(a)]
               : different_[distance] * (across_[static_cast<std::size_t>(a)] + across_[static_cast<std::size_t>(b)]);
  }
  std::vector<std::int8_t> best_classes(std::uint64_t seed) const;
  Fields fields_of(const std::vector<std::int8_t>& z) const;
  void flip(std::size_t group, std::vector<std::int8_t>& z, Fields& fields) const;
  const std::uint8_t* code(std::size_t group) const { return codes_.data() + group * bytes_; }
  std::vector<std::uint16_t> distances_to(const std::uint8_t* code) const;  // of the groups

  std::vector<CodeGroup> groups_;
  std::vector<std::uint8_t> codes_;
  std::size_t bytes_;
  std::size_t classes_;
  std::vector<double> within_;                  // 1 / n_c
  std::vector<double> across_;                  // 1 / (2 (m - n_c))
  std::vector<double> same_, different_;        // by distance: the rise of the loss
  std::vector<double> same_at_, different_at_;  // the loss itself, if bits agree
  std::vector<double> by_class_;  // classes x groups: couplings of a sample of a group to those of a class
  double base_ = 0;               // the loss if all bits agree
  double weight_ = 0;             // of all pairs
};

// The bits of all samples, one after the other.
class BitInference {
 public:
  // All samples are labelled; the labels must outlive this. With more than most_groups groups, that many random samples
  // stand for all, and each of the others takes its better bit.
  BitInference(const ClassLabels& labels, std::size_t bits, PairLoss loss, std::uint64_t seed, Threads& threads,
               std::size_t most_groups);

  struct Bit {
    std::vector<float> z;  // -1 and +1
    double objective;
    std::size_t samples;  // samples whose pairs were used: all, unless there are too many groups
  };
  Bit next();
  // Sets the bit that next() returned to the signs of these outputs, the trees' prediction of it.
  void append(std::span<const float> outputs);

  std::size_t groups() const { return groups_.size(); }

 private:
  const ClassLabels& labels_;
  PairLoss loss_;
  std::uint64_t seed_;
  Threads& threads_;
  std::size_t most_groups_;
  std::size_t found_ = 0;  // bits
  std::size_t bytes_;
  std::vector<CodeGroup> groups_;
  std::vector<std::uint8_t> codes_;  // of the groups
  std::vector<std::uint32_t> group_of_;
};

}  // namespace bdnn
