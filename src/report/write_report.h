#pragma once

#include <string>

#include "experiment/results_file.h"

namespace bdnn {

// Writes report.html, report.md, report.csv, report.json and plots/*.svg to a folder; returns the path of the first.
// Equal results give equal bytes.
std::string write_report(const ResultsFile& results, const std::string& folder);

}  // namespace bdnn
