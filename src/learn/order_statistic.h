// Medians and other quantiles of many numbers.
#pragma once

#include <cstddef>
#include <vector>

namespace bdnn {

// The value at index `rank` of the sorted `values`; rank < count, no value is NaN. In most cases one pass over the
// values: a sorted sample brackets the answer, and only values within the bracket are sorted. `scratch` is kept between
// calls.
float nth_smallest(const float* values, std::size_t count, std::size_t rank, std::vector<float>& scratch);

}  // namespace bdnn
