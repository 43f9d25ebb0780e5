// The kernel features of all samples, for methods that learn from them in many passes (anchors: learn/anchors.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "data/tiles.h"
#include "linalg/matrix.h"
#include "model/anchor_form.h"

namespace bdnn {

// The requested number of anchors; if that is the method's default, it is capped at the number of samples, so that
// small training sets need no option.
inline std::size_t anchor_count(int asked, int by_default, std::size_t samples) {
  const auto count = static_cast<std::size_t>(asked);
  return asked == by_default ? std::min(count, samples) : count;
}

// Calls work(first, phi) with the features phi (anchors x count) of the samples from `first` on, tile after tile; on
// several threads at once.
template <class Work>
void for_each_kernel_tile(const AnchorKernel& kernel, const Vectors& x, Threads& threads, const Work& work) {
  std::vector<EncoderScratch> scratch(static_cast<std::size_t>(threads.count()));
  for_each_tile_of(x, threads, [&](std::size_t first, std::size_t count, const float* samples, std::size_t worker) {
    const float* phi = kernel.features(samples, count, scratch[worker]);
    work(first, view(phi, kernel.anchors(), count));
  });
}

}  // namespace bdnn
