// Labels and other text in CSV files.
#pragma once

#include <string>
#include <vector>

#include "data/format.h"

namespace bdnn::csv {

// The cells of a column, by its name or number, without their quotes.
std::vector<std::string> column_of(const Source& source, const std::string& column);

// The labels in the column source.columns.label; else names, one per line or all in one line. An empty result means
// plain integers, to be read like vectors.
std::vector<std::int64_t> labels(const Source& source, LabelNames* names);

}  // namespace bdnn::csv
