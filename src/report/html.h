#pragma once

#include <string>

#include "report/report_data.h"

namespace bdnn {

// The report as one self-contained HTML file, with style, script, plots and images. It needs no network.
std::string html_of(const ReportData& report);

}  // namespace bdnn
