#include "coding/group_descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "base/random.h"
#include "base/simd_target.h"
#include "bdnn/codes.h"
#include "linalg/product.h"

#ifndef BDNN_GROUP_PROBLEM
#define BDNN_GROUP_PROBLEM
namespace bdnn {

// The problem, the same for all samples.
struct GroupProblem {
  BitGroups groups;
  const float* pull;  // as GroupDescent keeps it
  const float* norms;
  std::size_t stride;
  int sweeps;
  std::span<const std::uint32_t> kicks;
  std::size_t changes;
  const float* least_gains;
};

inline constexpr std::size_t kGroupLanes = 16;  // of the widest vector, and the values of the smallest group

}  // namespace bdnn
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coding/group_descent.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, kGroupLanes>;

// The code of one sample on its way down.
struct State {
  float* HWY_RESTRICT r;  // how much each value of each group would lower the objective, given the other groups
  std::uint32_t* HWY_RESTRICT chosen;  // the column of each group's value
};

// Index of the maximum; 0 if all entries are NaN.
std::size_t largest(const float* HWY_RESTRICT r, std::size_t size) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  auto most = hn::Load(d, r);
  for (std::size_t i = lanes; i < size; i += lanes) most = hn::Max(most, hn::Load(d, r + i));
  const auto value = hn::MaxOfLanes(d, most);
  for (std::size_t i = 0; i < size; i += lanes) {
    const auto found = hn::FindFirstTrue(d, hn::Eq(hn::Load(d, r + i), value));
    if (found >= 0) return i + static_cast<std::size_t>(found);
  }
  return 0;
}

// Returns the decrease of the value.
float choose(const GroupProblem& problem, std::size_t g, std::uint32_t column, const State& at) {
  const Tag d;
  const std::uint32_t before = at.chosen[g];
  const float gain = at.r[column] - at.r[before];
  const float* HWY_RESTRICT in = problem.pull + column * problem.stride;
  const float* HWY_RESTRICT out = problem.pull + before * problem.stride;
  for (std::size_t i = 0; i < problem.stride; i += hn::Lanes(d)) {
    const auto change = hn::Sub(hn::Load(d, out + i), hn::Load(d, in + i));
    hn::Store(hn::Add(hn::Load(d, at.r + i), change), d, at.r + i);
  }
  at.chosen[g] = column;
  return gain;
}

// Begins with the group `from`.
float descend(const GroupProblem& problem, std::size_t from, const State& at) {
  const std::size_t count = problem.groups.count();
  float gain = 0;
  std::size_t settled = 0;  // groups, since the last change, whose value is the best
  for (std::size_t turn = 0; turn < count * static_cast<std::size_t>(problem.sweeps) && settled < count; ++turn) {
    const std::size_t g = (from + turn) % count;
    const std::size_t first = problem.groups.first_column(g);
    const std::size_t padded = std::max(problem.groups.values(g), kGroupLanes);
    const std::size_t best = first + largest(at.r + first, padded);
    ++settled;
    if (at.r[best] - at.r[at.chosen[g]] > problem.least_gains[g]) {
      gain += choose(problem, g, static_cast<std::uint32_t>(best), at);
      settled = 1;
    }
  }
  return gain;
}

void copy(const State& from, const State& to, const GroupProblem& problem) {
  std::copy_n(from.r, problem.stride, to.r);
  std::copy_n(from.chosen, problem.groups.count(), to.chosen);
}

// One round of the local search: from `at` by way of `trial`.
void kick(const GroupProblem& problem, const std::uint32_t* columns, const State& at, const State& trial) {
  copy(at, trial, problem);
  float gain = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < problem.changes; ++i) {
    last = columns[i] >> problem.groups.group();
    gain += choose(problem, last, columns[i], trial);
  }
  gain += descend(problem, last + 1, trial);  // other groups first: the changed ones would often change back
  if (gain > problem.least_gains[problem.groups.count()]) copy(trial, at, problem);
}

void descend_from(const GroupProblem& problem, const float* q, std::size_t count, std::uint8_t* codes,
                  GroupDescent::Scratch& scratch) {
  const BitGroups& groups = problem.groups;
  const std::size_t columns = groups.columns();
  scratch.floats.make_room(2 * problem.stride);
  scratch.chosen.resize(2 * groups.count());
  const State at{scratch.floats.data(), scratch.chosen.data()};
  const State trial{scratch.floats.data() + problem.stride, scratch.chosen.data() + groups.count()};
  for (std::size_t i = 0; i < count; ++i, q += columns, codes += bytes_for_bits(groups.bits())) {
    for (std::size_t k = 0; k < columns; ++k) at.r[k] = 2 * q[k] - problem.norms[k];
    std::fill(at.r + columns, at.r + problem.stride, -std::numeric_limits<float>::infinity());  // never better
    for (std::size_t g = 0; g < groups.count(); ++g) {
      at.chosen[g] = static_cast<std::uint32_t>(groups.first_column(g) + groups.value(codes, g));
      const float* HWY_RESTRICT pull = problem.pull + at.chosen[g] * problem.stride;
      const Tag d;
      for (std::size_t k = 0; k < problem.stride; k += hn::Lanes(d)) {
        hn::Store(hn::Sub(hn::Load(d, at.r + k), hn::Load(d, pull + k)), d, at.r + k);
      }
    }
    descend(problem, 0, at);
    for (std::size_t k = 0; k < problem.kicks.size(); k += problem.changes) {
      kick(problem, &problem.kicks[k], at, trial);
    }
    for (std::size_t g = 0; g < groups.count(); ++g) groups.set(codes, g, at.chosen[g] - groups.first_column(g));
  }
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(descend_from);
}  // namespace

GroupDescent::GroupDescent(const BitGroups& groups, const MatrixXf& columns, int sweeps, int local_search)
    : groups_(groups),
      stride_((groups.columns() + kGroupLanes - 1) / kGroupLanes * kGroupLanes),
      sweeps_(sweeps),
      changes_(std::clamp<std::size_t>(groups.count() / 4, 1, 4)) {
  const std::size_t size = groups.columns();
  const MatrixXf rows = columns.transpose();
  pull_ = AlignedBuffer<float>(size * stride_);
  std::fill_n(pull_.data(), size * stride_, 0.0F);
  add_gram_lower(rows.data(), size, size, static_cast<std::size_t>(columns.rows()), pull_.data(), stride_);
  for (std::size_t j = 0; j < size; ++j) norms_.push_back(pull_.data()[j * stride_ + j]);
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t i = j; i < stride_; ++i) {
      const bool apart = i < size && i >> groups.group() != j >> groups.group();
      pull_.data()[j * stride_ + i] = apart ? 2 * pull_.data()[j * stride_ + i] : 0.0F;
      if (i < size) pull_.data()[i * stride_ + j] = pull_.data()[j * stride_ + i];
    }
  }
  const float largest = *std::max_element(norms_.begin(), norms_.end());
  for (std::size_t g = 0; g < groups.count(); ++g) {
    const auto first = norms_.begin() + static_cast<std::ptrdiff_t>(groups.first_column(g));
    const float own = *std::max_element(first, first + static_cast<std::ptrdiff_t>(groups.values(g)));
    least_gains_.push_back(1e-6F * std::sqrt(own) * std::sqrt(largest));  // as large as the pull between them
  }
  least_gains_.push_back(1e-6F * largest);
  std::vector<std::size_t> order(groups.count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(groups.bits());
  for (int round = 0; round < local_search; ++round) {
    for (std::size_t i = 0; i < changes_; ++i) {
      std::swap(order[i], order[i + random.below(groups.count() - i)]);
      const std::size_t value = random.below(groups.values(order[i]));
      kicks_.push_back(static_cast<std::uint32_t>(groups.first_column(order[i]) + value));
    }
  }
  choose_simd_target();
}

void GroupDescent::run(const float* q, std::size_t count, std::uint8_t* codes) const {
  Scratch scratch;
  run(q, count, codes, scratch);
}

void GroupDescent::run(const float* q, std::size_t count, std::uint8_t* codes, Scratch& scratch) const {
  const GroupProblem problem{groups_, pull_.data(), norms_.data(), stride_,
                             sweeps_, kicks_,       changes_,      least_gains_.data()};
  HWY_DYNAMIC_DISPATCH(descend_from)(problem, q, count, codes, scratch);
}

}  // namespace bdnn
#endif  // HWY_ONCE
