// Medians and other quantiles of many numbers.
#pragma once

#include <cstddef>
#include <vector>

namespace bdnn {

// The number that `rank` others come before when `values` are sorted; rank < count, no number is NaN. One pass over the
// values in most cases: a sorted sample brackets the answer, and only what lies in the bracket is sorted. `scratch` is
// kept from one call to the next.
float nth_smallest(const float* values, std::size_t count, std::size_t rank, std::vector<float>& scratch);

}  // namespace bdnn
