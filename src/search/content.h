// What an open index is made of.
#pragma once

#include <memory>
#include <vector>

#include "bdnn/index.h"
#include "search/segment.h"

namespace bdnn {

struct Index::Content {
  std::shared_ptr<const void> memory;  // that the segments look at
  std::vector<Segment> segments;
  IndexInfo info;
};

// A row of a segment as a Neighbour's id where keys are names.
inline std::uint64_t row_handle(std::size_t segment, std::size_t row) { return std::uint64_t{segment} << 32 | row; }

}  // namespace bdnn
