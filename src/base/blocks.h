// Samples in fixed blocks, and sums over them that come out the same for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/threads.h"

namespace bdnn {

// The block of samples that one thread works on, the unit in which sums over samples are taken. A constant: if it
// followed the number of threads or the size of a cache, so would the rounding.
inline constexpr std::size_t kSamplesPerBlock = 2048;

inline std::size_t blocks_of(std::size_t samples) { return (samples + kSamplesPerBlock - 1) / kSamplesPerBlock; }

// Within a block, the samples that are worked on together: as floats they fill half of a second-level cache. Like the
// block, a tile follows nothing but the data.
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

// The sum over all samples, block by block: work(range, partial) adds to `partial`, which starts at zero; the
// partial sums are added to the total in block order, with total += partial.
template <class Partial, class Total, class Work>
void sum_over_samples(Threads& threads, std::size_t samples, const Partial& zero, Total& total, const Work& work) {
  std::vector<Partial> partials(static_cast<std::size_t>(threads.count()), zero);
  threads.in_order(
      blocks_of(samples),
      [&](std::size_t block, int worker) {
        auto& partial = partials[static_cast<std::size_t>(worker)];
        partial = zero;
        work(block_range(block, samples), partial);
      },
      [&](std::size_t, int worker) { total += partials[static_cast<std::size_t>(worker)]; });
}

}  // namespace bdnn
