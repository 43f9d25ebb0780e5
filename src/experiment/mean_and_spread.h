#pragma once

#include <algorithm>
#include <numeric>
#include <span>

namespace bdnn {

struct MeanAndSpread {
  double mean = 0;
  double spread = 0;  // largest minus smallest
};

// Of at least one value.
inline MeanAndSpread mean_and_spread(std::span<const double> values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()), *most - *least};
}

}  // namespace bdnn
