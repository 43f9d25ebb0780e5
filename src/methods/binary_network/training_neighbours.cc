#include "methods/binary_network/training_neighbours.h"

#include <algorithm>

#include "bdnn/ground_truth.h"
#include "data/format.h"

namespace bdnn {

NearestPlaces nearest_training_places(const Vectors& x, const std::vector<std::uint32_t>& of,
                                      const std::vector<std::uint32_t>& training, std::size_t wanted, int threads,
                                      Progress& progress) {
  // Neighbours among all samples; those that are not trained on are dropped afterwards.
  std::vector<std::int32_t> place(x.size(), -1);
  for (std::size_t i = 0; i < training.size(); ++i) place[training[i]] = static_cast<std::int32_t>(i);
  GroundTruthOptions options;
  options.k = std::min(x.size() - 1, wanted + wanted * (x.size() - training.size()) * 2 / x.size() + 20);
  options.threads = threads;
  options.self.assign(of.begin(), of.end());
  const GroundTruth truth = exact_neighbours(x, gather(x, of), options, progress);
  NearestPlaces nearest{wanted, {}};
  for (int attempt = 0; attempt < 2; ++attempt) {
    nearest.places.clear();
    std::size_t fewest = nearest.per_row;
    for (std::size_t q = 0; q < of.size(); ++q) {
      std::size_t found = 0;
      for (const std::int32_t id : truth.of(q)) {
        if (found == nearest.per_row) break;
        if (place[static_cast<std::size_t>(id)] < 0) continue;
        nearest.places.push_back(place[static_cast<std::size_t>(id)]);
        ++found;
      }
      fewest = std::min(fewest, found);
    }
    if (fewest == nearest.per_row) break;
    nearest.per_row = fewest;
  }
  return nearest;
}

NeighbourLists neighbour_lists(const Vectors& x, const std::vector<std::uint32_t>& training, std::size_t anchors,
                               std::size_t near, std::uint64_t seed, int threads, Progress& progress) {
  NeighbourLists lists;
  const std::size_t samples = training.size();
  constexpr std::size_t kFewest = 1000;
  const std::size_t wanted = std::min(std::max(10 * near, kFewest), samples / 4);
  lists.near = std::min(near, samples / 20);
  if (lists.near == 0) return lists;
  Random random(seed);
  std::vector<std::uint32_t> order = random_rows(samples, std::min(anchors, samples), random);
  std::sort(order.begin(), order.end());
  std::vector<std::uint32_t> rows;
  for (const auto place : order) rows.push_back(training[place]);
  const NearestPlaces nearest = nearest_training_places(x, rows, training, wanted, threads, progress);
  lists.anchors = std::move(order);
  lists.per_anchor = nearest.per_row;
  lists.near = std::min(lists.near, nearest.per_row);
  lists.neighbours.assign(nearest.places.begin(), nearest.places.end());
  return lists;
}

}  // namespace bdnn
