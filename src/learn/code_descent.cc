#include "learn/code_descent.h"

#include <algorithm>

#include "base/simd_target.h"
#include "linalg/aligned.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learn/code_descent.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, 16>;

// As many samples as a vector has lanes, one to a lane. r (L vectors) holds q - (G without its diagonal) b.
void descend_lanes(const float* HWY_RESTRICT gram, std::size_t bits, int sweeps, float* HWY_RESTRICT r,
                   float* HWY_RESTRICT b) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, 1.0F);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    bool changed = false;
    for (std::size_t k = 0; k < bits; ++k) {
      const auto now = hn::Load(d, b + k * lanes);
      const auto pull = hn::Load(d, r + k * lanes);
      const auto undecided = hn::IfThenElse(hn::Eq(now, zero), one, now);
      const auto sign = hn::IfThenElse(hn::Gt(pull, zero), one, hn::Neg(one));
      const auto next = hn::IfThenElse(hn::Eq(pull, zero), undecided, sign);
      const auto step = hn::Sub(next, now);
      if (hn::AllTrue(d, hn::Eq(step, zero))) continue;
      changed = true;
      hn::Store(next, d, b + k * lanes);
      const float* column = gram + k * bits;
      for (std::size_t j = 0; j < bits; ++j) {
        const auto pulled = hn::NegMulAdd(hn::Set(d, column[j]), step, hn::Load(d, r + j * lanes));
        hn::Store(pulled, d, r + j * lanes);
      }
    }
    if (!changed) return;
  }
}

void descend(const float* gram, std::size_t bits, int sweeps, const float* q, std::size_t count, float* b) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  AlignedBuffer<float> room(2 * bits * lanes);
  float* r = room.data();
  float* lane_b = r + bits * lanes;
  for (std::size_t first = 0; first < count; first += lanes) {
    const std::size_t n = std::min(lanes, count - first);
    std::fill_n(r, 2 * bits * lanes, 0.0F);  // lanes without a sample have nothing to pull them
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < bits; ++k) {
        r[k * lanes + i] = q[(first + i) * bits + k];
        lane_b[k * lanes + i] = b[(first + i) * bits + k];
      }
    }
    for (std::size_t k = 0; k < bits; ++k) {
      const auto bit = hn::Load(d, lane_b + k * lanes);
      if (hn::AllTrue(d, hn::Eq(bit, hn::Zero(d)))) continue;
      for (std::size_t j = 0; j < bits; ++j) {
        const auto pulled = hn::NegMulAdd(hn::Set(d, gram[k * bits + j]), bit, hn::Load(d, r + j * lanes));
        hn::Store(pulled, d, r + j * lanes);
      }
    }
    descend_lanes(gram, bits, sweeps, r, lane_b);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < bits; ++k) b[(first + i) * bits + k] = lane_b[k * lanes + i];
    }
  }
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(descend);
}  // namespace

CodeDescent::CodeDescent(const MatrixXd& gram, int sweeps) : gram_(gram.cast<float>()), sweeps_(sweeps) {
  gram_.diagonal().setZero();
  choose_simd_target();
}

void CodeDescent::run(const float* q, std::size_t count, float* b) const {
  HWY_DYNAMIC_DISPATCH(descend)(gram_.data(), static_cast<std::size_t>(gram_.rows()), sweeps_, q, count, b);
}

}  // namespace bdnn
#endif  // HWY_ONCE
