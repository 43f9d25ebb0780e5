#pragma once

#include <string>

#include "report/report_data.h"

namespace bdnn {

// The report as one HTML file that needs no other: style, script, plots and images are in it. Opens without network.
std::string html_of(const ReportData& report);

}  // namespace bdnn
