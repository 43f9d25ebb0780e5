#include "learn/class_codes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace bdnn {
namespace {

// The search from one random start.
class Codebook {
 public:
  Codebook(std::size_t classes, std::size_t bits, Random& random)
      : classes_(classes), bits_(bits), signs_(classes * bits), distances_(classes * classes, 0), cost_(bits + 2) {
    for (std::size_t d = 0; d < cost_.size(); ++d) cost_[d] = std::pow(0.25, static_cast<double>(d));
    for (std::size_t c = 0; c < classes; ++c) {
      // Bits that are balanced over the classes are farther apart than bits that are drawn one by one.
      for (std::size_t k = 0; k < bits; ++k) signs_[c * bits + k] = c % 2 == 0 ? 1 : -1;
    }
    for (std::size_t k = 0; k < bits; ++k) {
      for (std::size_t c = classes; c > 1; --c) {
        std::swap(signs_[(c - 1) * bits + k], signs_[random.below(c) * bits + k]);
      }
    }
    for (std::size_t a = 0; a < classes; ++a) {
      for (std::size_t b = 0; b < classes; ++b) {
        for (std::size_t k = 0; k < bits; ++k) {
          distances_[a * classes + b] += signs_[a * bits + k] != signs_[b * bits + k] ? 1 : 0;
        }
      }
    }
  }

  // Flips bits until no flip helps, or the budget of flips is used up.
  void improve(double& flips_left) {
    for (bool changed = true; changed && flips_left > 0;) {
      changed = false;
      for (std::size_t c = 0; c < classes_; ++c) {
        for (std::size_t k = 0; k < bits_; ++k) {
          flips_left -= static_cast<double>(classes_);
          changed = flip_if_better(c, k) || changed;
        }
      }
    }
  }

  double energy() const {
    double sum = 0;
    for (std::size_t a = 0; a < classes_; ++a) {
      for (std::size_t b = 0; b < a; ++b) sum += cost_[static_cast<std::size_t>(distances_[a * classes_ + b])];
    }
    return sum;
  }

  const float* code(std::size_t c) const { return signs_.data() + c * bits_; }

 private:
  bool flip_if_better(std::size_t c, std::size_t k) {
    double gain = 0;
    const float sign = signs_[c * bits_ + k];
    for (std::size_t other = 0; other < classes_; ++other) {
      if (other == c) continue;
      const int before = distances_[c * classes_ + other];
      const int after = signs_[other * bits_ + k] == sign ? before + 1 : before - 1;
      gain += cost_[static_cast<std::size_t>(before)] - cost_[static_cast<std::size_t>(after)];
    }
    if (!(gain > 1e-12 * cost_[bits_ / 2])) return false;
    for (std::size_t other = 0; other < classes_; ++other) {
      if (other == c) continue;
      const int change = signs_[other * bits_ + k] == sign ? 1 : -1;
      distances_[c * classes_ + other] += change;
      distances_[other * classes_ + c] += change;
    }
    signs_[c * bits_ + k] = -sign;
    return true;
  }

  std::size_t classes_;
  std::size_t bits_;
  std::vector<float> signs_;    // -1 or +1; code after code
  std::vector<int> distances_;  // classes x classes
  std::vector<double> cost_;    // of a pair at that distance
};

}  // namespace

TargetCodes class_codes(std::size_t classes, std::size_t bits, std::uint64_t seed) {
  constexpr int kStarts = 30;
  double flips_left = 3e8;  // comparisons of two classes, about a second
  Random random(seed);
  TargetCodes best(bits, classes);
  double least = std::numeric_limits<double>::infinity();
  for (int start = 0; start < kStarts && flips_left > 0; ++start) {
    Codebook book(classes, bits, random);
    flips_left -= static_cast<double>(classes * classes * bits);
    book.improve(flips_left);
    if (book.energy() >= least) continue;
    least = book.energy();
    for (std::size_t c = 0; c < classes; ++c) best.pack(c, 1, book.code(c));
  }
  return best;
}

}  // namespace bdnn
