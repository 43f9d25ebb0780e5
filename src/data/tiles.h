// All vectors as floats, a tile at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "base/blocks.h"
#include "base/threads.h"
#include "bdnn/vectors.h"

namespace bdnn {

// Calls work(first, count, floats, worker) for tiles of all vectors, block by block; on several threads at once, of
// which `worker` is the number, for what a thread keeps.
template <class Work>
void for_each_tile_of(const Vectors& x, Threads& threads, const Work& work) {
  const std::size_t tile = samples_per_tile(x.dimension());
  std::vector<std::vector<float>> scratch(static_cast<std::size_t>(threads.count()));
  threads.for_each(blocks_of(x.size()), [&](std::size_t block, int worker) {
    auto& own = scratch[static_cast<std::size_t>(worker)];
    own.resize(tile * x.dimension());
    for_each_tile(block_range(block, x.size()), tile, [&](std::size_t first, std::size_t count) {
      work(first, count, x.floats(first, count, own.data()), static_cast<std::size_t>(worker));
    });
  });
}

}  // namespace bdnn
