// Which samples of the training set are nearest to which: exhaustive search, linear in the samples for a fixed number
// of rows that are asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "bdnn/progress.h"
#include "bdnn/vectors.h"
#include "learn/neighbour_term.h"

namespace bdnn {

struct NearestPlaces {
  std::size_t per_row = 0;           // at most as many as wanted: of all rows as many as the poorest has
  std::vector<std::int32_t> places;  // in the training set, nearest first; row after row
};

// Of the rows `of` of x, the nearest of the rows `training`, never a row itself. The data is not copied.
NearestPlaces nearest_training_places(const Vectors& x, const std::vector<std::uint32_t>& of,
                                      const std::vector<std::uint32_t>& training, std::size_t wanted, int threads,
                                      Progress& progress);

// Neighbours for NeighbourTerm, of at most `anchors` random training rows: ten times as many as count as near, and at
// least 1,000; fewer where there are few rows, and none where there are too few.
NeighbourLists neighbour_lists(const Vectors& x, const std::vector<std::uint32_t>& training, std::size_t anchors,
                               std::size_t near, std::uint64_t seed, int threads, Progress& progress);

}  // namespace bdnn
