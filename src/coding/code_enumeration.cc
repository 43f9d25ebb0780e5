#include "coding/code_enumeration.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "codes/hamming.h"

namespace bdnn {
namespace {

// q^T b of all codes of a few bits: [0] = all bits -1, then each bit set adds twice its q.
void sums_of_codes(const float* q, std::size_t bits, float* sums) {
  sums[0] = 0;
  for (std::size_t k = 0; k < bits; ++k) sums[0] -= q[k];
  for (std::size_t k = 0; k < bits; ++k) {
    const std::size_t half = std::size_t{1} << k;
    for (std::size_t v = 0; v < half; ++v) sums[half + v] = sums[v] + 2 * q[k];
  }
}

// min over v of a[v] - b[v]
float least_difference(const float* a, const float* b, std::size_t size) {
  constexpr std::size_t kLanes = 8;  // side by side, for the compiler to vectorise
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, std::numeric_limits<float>::max());
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const float value = a[i + j] - b[i + j];
      lanes[j] = value < lanes[j] ? value : lanes[j];
    }
  }
  for (; i < size; ++i) lanes[0] = std::min(lanes[0], a[i] - b[i]);
  return *std::min_element(lanes, lanes + kLanes);
}

}  // namespace

CodeEnumeration::CodeEnumeration(const MatrixXd& gram)
    : bits_(static_cast<std::size_t>(gram.rows())), low_((bits_ + 1) / 2) {
  if (bits_ > kMostBits) misuse("{} bits have too many codes to try them all; at most {} do", bits_, kMostBits);
  // From code to code: setting bit k adds 2 sum_{j != k} G_kj b_j.
  const std::size_t codes = std::size_t{1} << bits_;
  std::vector<double> table(codes);
  table[0] = 0.5 * gram.sum();
  for (std::size_t k = 0; k < bits_; ++k) {
    const std::size_t half = std::size_t{1} << k;
    std::vector<double> row(half);  // sum_{j != k} G_kj b_j of the codes below `half`
    for (std::size_t j = 0; j < bits_; ++j) {
      if (j != k) row[0] -= gram(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(j));
    }
    for (std::size_t j = 0; j < k; ++j) {
      const double twice = 2 * gram(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(j));
      const std::size_t step = std::size_t{1} << j;
      for (std::size_t v = 0; v < step; ++v) row[step + v] = row[v] + twice;
    }
    for (std::size_t v = 0; v < half; ++v) table[half + v] = table[v] + 2 * row[v];
  }
  quadratic_.assign(table.begin(), table.end());
}

void CodeEnumeration::run(const float* q, std::size_t count, float* b) const {
  const std::size_t lows = std::size_t{1} << low_;
  const std::size_t highs = std::size_t{1} << (bits_ - low_);
  std::vector<float> low(lows);
  std::vector<float> high(highs);
  for (std::size_t i = 0; i < count; ++i, q += bits_, b += bits_) {
    sums_of_codes(q, low_, low.data());
    sums_of_codes(q + low_, bits_ - low_, high.data());
    std::size_t best = 0;
    for (std::size_t k = 0; k < bits_; ++k) best |= std::size_t{b[k] > 0} << k;
    float least = (quadratic_[best] - low[best % lows]) - high[best / lows];
    for (std::size_t h = 0; h < highs; ++h) {
      const float* table = quadratic_.data() + h * lows;
      const float value = least_difference(table, low.data(), lows);
      if (!(value - high[h] < least)) continue;
      least = value - high[h];
      for (std::size_t l = 0; l < lows; ++l) {
        if (table[l] - low[l] != value) continue;
        best = h * lows + l;
        break;
      }
    }
    for (std::size_t k = 0; k < bits_; ++k) b[k] = sign_of_bit((best >> k & 1) != 0);
  }
}

}  // namespace bdnn
