// Codes for classes, as far apart from each other as a search finds.
#pragma once

#include <cstdint>

#include "learn/target_codes.h"

namespace bdnn {

// One code per class. Bits are flipped as long as that lowers the sum over pairs of classes of 4^-distance, which is
// dominated by the nearest pairs; of several random starts, the one with the lowest sum is kept. If there are more
// classes than codes, some share one.
TargetCodes class_codes(std::size_t classes, std::size_t bits, std::uint64_t seed);

}  // namespace bdnn
