// Samples in fixed blocks, and sums over them that come out the same for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/threads.h"

namespace bdnn {

// The block of samples that one thread works on, the unit in which sums over samples are taken. A constant: if it
// followed the number of threads or the size of a cache, so would the rounding.
inline constexpr std::size_t kSamplesPerBlock = 2048;

inline std::size_t blocks_of(std::size_t samples) { return (samples + kSamplesPerBlock - 1) / kSamplesPerBlock; }

// The samples of a block that are processed together: as floats they fill half of a second-level cache. Like the block,
// a tile depends on the data alone.
inline std::size_t samples_per_tile(std::size_t dimension) {
  constexpr std::size_t kFloats = std::size_t{1} << 17;
  constexpr std::size_t kMultiple = 14;  // whole tiles of columns in the product kernels
  return std::clamp<std::size_t>(kFloats / std::max<std::size_t>(dimension, 1), kMultiple, 1024) / kMultiple *
         kMultiple;
}

// A range of samples.
struct Range {
  std::size_t first;
  std::size_t count;
};
inline Range block_range(std::size_t block, std::size_t samples) {
  const std::size_t first = block * kSamplesPerBlock;
  return {first, std::min(kSamplesPerBlock, samples - first)};
}

// Calls work(first, count) for the tiles of a range, in order; `tile` is usually samples_per_tile(dimension).
template <class Work>
void for_each_tile(const Range& range, std::size_t tile, const Work& work) {
  for (std::size_t i = 0; i < range.count; i += tile) work(range.first + i, std::min(tile, range.count - i));
}

// A sum over blocks, taken in block order, whose rounding follows a fixed binary tree: the sum of blocks [0, n) is that
// of [0, p) plus that of [p, n), where p is the largest power of two below n. So an aligned run of 2^k blocks can be
// summed by another process, and the total keeps its bits. Memory: a Sum for each level of the tree, log2(n) of them.
template <class Sum>
class TreeSum {
 public:
  explicit TreeSum(Sum zero) : incoming_(std::move(zero)) {}

  // Starts again, keeping its memory.
  void clear() { std::fill(occupied_.begin(), occupied_.end(), false); }

  // Adds the next block: set(sum) overwrites `sum`, whatever it holds, with the sum of that block.
  template <class Set>
  void add(const Set& set) {
    set(incoming_);
    std::size_t level = 0;
    for (; level < levels_.size() && occupied_[level]; ++level) {
      levels_[level] += incoming_;  // the earlier blocks stand on the left
      std::swap(levels_[level], incoming_);
      occupied_[level] = false;
    }
    if (level == levels_.size()) {
      levels_.push_back(incoming_);
      occupied_.push_back(true);
    } else {
      std::swap(levels_[level], incoming_);
      occupied_[level] = true;
    }
  }

  // The sum of all blocks; null if there were none. Valid until the next clear().
  const Sum* total() {
    Sum* right = nullptr;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      if (!occupied_[level]) continue;
      if (right != nullptr) levels_[level] += *right;
      right = &levels_[level];
    }
    return right;
  }

 private:
  Sum incoming_;
  std::vector<Sum> levels_;  // levels_[l] sums 2^l blocks, if it is occupied
  std::vector<bool> occupied_;
};

// How the partial sum of a block becomes a Sum; overloaded for sums with another representation.
template <class Sum, class Partial>
void assign_sum(Sum& sum, const Partial& partial) {
  sum = partial;
}

// A partial sum that knows how to start again without a copy of zero, and how to become a Sum.
template <class Partial, class Sum>
concept PartialSum = requires(Partial partial, const Partial& done, Sum& sum) {
  partial.clear();
  done.assign_to(sum);
};

// Adds to `total`, which starts at zero, the sum over all samples: work(range, partial) adds those of a block to
// `partial`, which starts as `zero`. The result is the same for any number of threads. Whole numbers, which add up the
// same in any order, need no tree: a partial sum may have add_counts_to(total) for them.
template <class Partial, class Total, class Work>
void sum_over_samples(Threads& threads, std::size_t samples, const Partial& zero, Total& total, const Work& work) {
  std::vector<Partial> partials(static_cast<std::size_t>(threads.count()), zero);
  TreeSum<Total> sums(total);
  threads.in_order(
      blocks_of(samples),
      [&](std::size_t block, int worker) {
        auto& partial = partials[static_cast<std::size_t>(worker)];
        if constexpr (PartialSum<Partial, Total>) {
          partial.clear();
        } else {
          partial = zero;
        }
        work(block_range(block, samples), partial);
      },
      [&](std::size_t, int worker) {
        const Partial& partial = partials[static_cast<std::size_t>(worker)];
        sums.add([&](Total& sum) {
          if constexpr (PartialSum<Partial, Total>) {
            partial.assign_to(sum);
          } else {
            assign_sum(sum, partial);
          }
        });
        if constexpr (requires { partial.add_counts_to(total); }) partial.add_counts_to(total);
      });
  if (const Total* sum = sums.total()) total += *sum;
}

}  // namespace bdnn
