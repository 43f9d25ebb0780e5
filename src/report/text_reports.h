// The tables of a report for other programs and plain text.
#pragma once

#include <string>

#include "report/report_data.h"

namespace bdnn {

std::string markdown_of(const ReportData& report);  // links to the plots in plots/
std::string csv_of(const ReportData& report);       // a line per experiment, metric, method and length
std::string json_of(const ReportData& report);      // the same, nested

}  // namespace bdnn
