// Labels and other text in CSV files.
#pragma once

#include <string>
#include <vector>

#include "data/format.h"

namespace bdnn::csv {

// The cells of a column, by its name or number, without their quotes.
std::vector<std::string> column_of(const Source& source, const std::string& column);

// Those of the column source.columns.label; else names, one per line or in one line. An empty answer: there are plain
// integers, to be read as vectors are.
std::vector<std::int64_t> labels(const Source& source, LabelNames* names);

}  // namespace bdnn::csv
