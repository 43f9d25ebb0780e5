// The kernel features of all samples, for methods that learn from them in many passes (anchors: learn/anchors.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/blocks.h"
#include "bdnn/vectors.h"
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
  struct Room {
    EncoderScratch scratch;
    std::vector<float> samples;
  };
  std::vector<Room> rooms(static_cast<std::size_t>(threads.count()));
  const std::size_t tile = samples_per_tile(x.dimension());
  threads.for_each(blocks_of(x.size()), [&](std::size_t block, int worker) {
    Room& room = rooms[static_cast<std::size_t>(worker)];
    room.samples.resize(tile * x.dimension());
    for_each_tile(block_range(block, x.size()), tile, [&](std::size_t first, std::size_t count) {
      const float* samples = x.floats(first, count, room.samples.data());
      work(first,
           view(static_cast<const float*>(kernel.features(samples, count, room.scratch)), kernel.anchors(), count));
    });
  });
}

}  // namespace bdnn
