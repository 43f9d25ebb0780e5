// The codes that a filter lets through, put together: where they are few, a scan of them is short.
#pragma once

#include <vector>

#include "search/scan.h"

namespace bdnn {

// Kept from one search to the next.
struct GatheredCodes {
  std::vector<std::uint32_t> rows;  // of the codes, ascending
  std::vector<std::uint8_t> tiles;
};

// `source` has tiles.
void gather(const ScanSource& source, const RowFilter& filter, GatheredCodes& gathered);

}  // namespace bdnn
