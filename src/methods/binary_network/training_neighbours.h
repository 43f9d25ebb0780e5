// The nearest neighbours of samples within the training set, by exhaustive search: linear in the samples for a fixed
// number of query rows.
#pragma once

#include <cstdint>
#include <vector>

#include "bdnn/progress.h"
#include "bdnn/vectors.h"
#include "learn/neighbour_term.h"

namespace bdnn {

struct NearestPlaces {
  std::size_t per_row = 0;           // at most as many as requested; every row has as many as the row with the fewest
  std::vector<std::int32_t> places;  // in the training set, nearest first; row after row
};

// For each row in `of`, its nearest rows in `training`, never itself. The data is not copied.
NearestPlaces nearest_training_places(const Vectors& x, const std::vector<std::uint32_t>& of,
                                      const std::vector<std::uint32_t>& training, std::size_t wanted, int threads,
                                      Progress& progress);

// Neighbours for NeighbourTerm, of at most `anchors` random training rows: ten times as many as count as near, and at
// least 1,000; fewer if there are few rows, and none if there are too few.
NeighbourLists neighbour_lists(const Vectors& x, const std::vector<std::uint32_t>& training, std::size_t anchors,
                               std::size_t near, std::uint64_t seed, int threads, Progress& progress);

}  // namespace bdnn
