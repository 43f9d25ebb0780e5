#include "coding/code_descent.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <span>

#include "base/random.h"
#include "base/simd_target.h"
#include "codes/hamming.h"
#include "linalg/aligned.h"

#ifndef BDNN_CODE_PROBLEM
#define BDNN_CODE_PROBLEM
namespace bdnn {

// The problem, the same for all samples.
struct CodeProblem {
  const float* gram;  // as CodeDescent keeps it
  std::size_t bits;
  std::size_t stride;
  int sweeps;
  std::span<const std::uint32_t> kicks;
  std::size_t flips;
};

}  // namespace bdnn
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coding/code_descent.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, 16>;

// The code of one sample on its way down. Vectors go over the bits, not over samples: samples flip different bits, and
// side by side each would wait for the flips of all.
struct State {
  float* HWY_RESTRICT r;              // q - (G without its diagonal) b; zero beyond the last bit
  std::uint64_t* HWY_RESTRICT b;      // bit k set: b_k = +1
  std::uint64_t* HWY_RESTRICT wrong;  // bit k set: to flip b_k would lower the value
};

// r -= step * column, then updates `wrong`.
void pull(const float* HWY_RESTRICT column, float step, std::size_t stride, const State& at) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto steps = hn::Set(d, step);
  for (std::size_t word = 0; word * 64 < stride; ++word) {
    std::uint64_t above = 0;
    std::uint64_t below = 0;
    const std::size_t end = std::min<std::size_t>(64, stride - word * 64);
    for (std::size_t i = 0; i < end; i += lanes) {
      const std::size_t k = word * 64 + i;
      const auto r = hn::NegMulAdd(hn::Load(d, column + k), steps, hn::Load(d, at.r + k));
      hn::Store(r, d, at.r + k);
      std::uint8_t bits[8] = {};
      std::uint64_t part = 0;
      hn::StoreMaskBits(d, hn::Gt(r, hn::Zero(d)), bits);
      std::memcpy(&part, bits, sizeof part);
      above |= part << i;
      hn::StoreMaskBits(d, hn::Lt(r, hn::Zero(d)), bits);
      std::memcpy(&part, bits, sizeof part);
      below |= part << i;
    }
    at.wrong[word] = (above & ~at.b[word]) | (below & at.b[word]);
  }
}

// Returns the change of the value.
float flip(const CodeProblem& problem, std::size_t k, const State& at) {
  const std::uint64_t bit = std::uint64_t{1} << (k % 64);
  const float now = sign_of_bit((at.b[k / 64] & bit) != 0);
  const float change = 4 * now * at.r[k];
  at.b[k / 64] ^= bit;
  pull(problem.gram + k * problem.stride, -2 * now, problem.stride, at);
  return change;
}

float descend(const CodeProblem& problem, const State& at) {
  float change = 0;
  for (int sweep = 0; sweep < problem.sweeps; ++sweep) {
    bool changed = false;
    for (std::size_t word = 0; word * 64 < problem.stride; ++word) {
      std::uint64_t ahead = ~std::uint64_t{0};
      while ((at.wrong[word] & ahead) != 0) {
        const auto k = static_cast<std::size_t>(std::countr_zero(at.wrong[word] & ahead));
        ahead = ~std::uint64_t{1} << k;
        change += flip(problem, word * 64 + k, at);
        changed = true;
      }
    }
    if (!changed) break;
  }
  return change;
}

// From nothing: b_k = sgn(r_k) in turn, those after k being 0.
void decide_all(const CodeProblem& problem, const State& at) {
  for (std::size_t k = 0; k < problem.bits; ++k) {
    const bool up = at.r[k] >= 0;
    if (up) at.b[k / 64] |= std::uint64_t{1} << (k % 64);
    pull(problem.gram + k * problem.stride, sign_of_bit(up), problem.stride, at);
  }
}

void copy(const State& from, const State& to, std::size_t stride) {
  const std::size_t words = (stride + 63) / 64;
  std::copy_n(from.r, stride, to.r);
  std::copy_n(from.b, words, to.b);
  std::copy_n(from.wrong, words, to.wrong);
}

// One round of the local search: from `at` by way of `trial`.
void kick(const CodeProblem& problem, const std::uint32_t* bits, const State& at, const State& trial) {
  copy(at, trial, problem.stride);
  float change = 0;
  for (std::size_t i = 0; i < problem.flips; ++i) change += flip(problem, bits[i], trial);
  change += descend(problem, trial);
  if (change < 0) copy(trial, at, problem.stride);
}

void descend_from(const CodeProblem& problem, std::size_t count, float* b, CodeDescent::Scratch& scratch) {
  const std::size_t words = (problem.stride + 63) / 64;
  scratch.floats.make_room(2 * problem.stride);
  scratch.masks.resize(4 * words);
  std::uint64_t* masks = scratch.masks.data();
  const State at{scratch.floats.data(), masks, masks + words};
  const State trial{scratch.floats.data() + problem.stride, masks + 2 * words, masks + 3 * words};
  const float* nothing = problem.gram + problem.bits * problem.stride;
  const float* r = scratch.r.data();
  for (std::size_t i = 0; i < count; ++i, r += problem.bits, b += problem.bits) {
    std::copy_n(r, problem.bits, at.r);
    std::fill(at.r + problem.bits, at.r + problem.stride, 0.0F);
    std::fill_n(masks, 4 * words, 0);
    if (b[0] == 0) {
      decide_all(problem, at);
    } else {
      for (std::size_t k = 0; k < problem.bits; ++k) at.b[k / 64] |= std::uint64_t{b[k] > 0} << (k % 64);
      pull(nothing, 0, problem.stride, at);
    }
    descend(problem, at);
    for (std::size_t j = 0; j < problem.kicks.size(); j += problem.flips) kick(problem, &problem.kicks[j], at, trial);
    for (std::size_t k = 0; k < problem.bits; ++k) b[k] = sign_of_bit((at.b[k / 64] >> (k % 64) & 1) != 0);
  }
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(descend_from);
constexpr std::size_t kLanes = 16;  // of the widest vector
}  // namespace

CodeDescent::CodeDescent(const MatrixXd& gram, int sweeps, int local_search)
    : bits_(static_cast<std::size_t>(gram.rows())),
      stride_((bits_ + kLanes - 1) / kLanes * kLanes),
      sweeps_(sweeps),
      flips_(std::min<std::size_t>(4, (bits_ + 1) / 2)) {
  MatrixXf off_diagonal = gram.cast<float>();
  off_diagonal.diagonal().setZero();
  gram_ = AlignedBuffer<float>((bits_ + 1) * stride_);
  std::fill_n(gram_.data(), (bits_ + 1) * stride_, 0.0F);
  for (std::size_t k = 0; k < bits_; ++k) {
    std::copy_n(off_diagonal.data() + k * bits_, bits_, gram_.data() + k * stride_);
  }
  product_ = PackedMatrix<float>::from_columns(off_diagonal.data(), bits_, bits_, bits_);
  std::vector<std::uint32_t> order(bits_);
  std::iota(order.begin(), order.end(), 0U);
  Random random(bits_);
  for (int round = 0; round < local_search; ++round) {
    for (std::size_t i = 0; i < flips_; ++i) {
      std::swap(order[i], order[i + random.below(bits_ - i)]);
      kicks_.push_back(order[i]);
    }
  }
  choose_simd_target();
}

void CodeDescent::run(const float* q, std::size_t count, float* b) const {
  Scratch scratch;
  run(q, count, b, scratch);
}

void CodeDescent::run(const float* q, std::size_t count, float* b, Scratch& scratch) const {
  std::vector<float>& r = scratch.r;
  r.resize(bits_ * count);
  multiply(product_, b, count, bits_, r.data(), bits_);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = q[i] - r[i];
  const CodeProblem problem{gram_.data(), bits_, stride_, sweeps_, kicks_, flips_};
  HWY_DYNAMIC_DISPATCH(descend_from)(problem, count, b, scratch);
}

}  // namespace bdnn
#endif  // HWY_ONCE
