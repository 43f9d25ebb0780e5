// What building an index measures, for the planner.
#pragma once

#include "search/segment.h"

namespace bdnn {

// Measures on a sample of the segment's own codes, which stand for queries to come.
Statistics measure(const Segment& segment, Threads& threads);

}  // namespace bdnn
