// Small samples that methods can learn from.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "bdnn/vectors.h"

namespace bdnn::testing {

// Independent normal numbers, all of them moved by `offset`.
inline Vectors gaussian(std::size_t dimension, std::size_t count, std::uint64_t seed, double offset = 0) {
  Random random(seed);
  std::vector<float> values(dimension * count);
  for (float& value : values) value = static_cast<float>(offset + random.normal());
  return {dimension, count, std::move(values)};
}

// Labels of classes that take turns: 0, 1, 2, 0, 1, ...
inline std::vector<std::int64_t> turns(std::int64_t classes, std::size_t count) {
  std::vector<std::int64_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::int64_t>(i) % classes;
  return labels;
}

// Classes around their own centres, `spread` apart; the centres are the same for every seed.
inline Vectors blobs(const std::vector<std::int64_t>& labels, std::size_t dimension, double spread,
                     std::uint64_t seed) {
  std::vector<float> values;
  Random noise(seed);
  for (const std::int64_t label : labels) {
    Random centre(static_cast<std::uint64_t>(label + 100));
    for (std::size_t d = 0; d < dimension; ++d) {
      values.push_back(static_cast<float>(spread * centre.normal() + noise.normal()));
    }
  }
  return {dimension, labels.size(), std::move(values)};
}

}  // namespace bdnn::testing
