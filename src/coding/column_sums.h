// Norms of sums of columns, which a decoder by groups rebuilds.
#pragma once

#include <cstddef>

namespace bdnn {

// ||sum of the columns||^2, each of `dimension` floats. The sum is taken in float, column after column, its square in
// double, in eight chains: the same on every machine.
double norm_of_sum(const float* const* columns, std::size_t count, std::size_t dimension);

}  // namespace bdnn
