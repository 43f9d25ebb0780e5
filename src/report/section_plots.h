// The plots of a report's section.
#pragma once

#include "report/plot.h"
#include "report/report_data.h"

namespace bdnn {

// The metric over the code length, a curve per method.
Plot plot_of(const ReportSection& section, const ReportTable& table);

// Precision over recall within every Hamming distance, a curve per method.
Plot plot_of(const ReportSection& section, const ReportCurves& curves);

// Name of the plot's file: "mnist-unsupervised-mAP.svg".
std::string plot_file(const ReportSection& section, const ReportTable& table);
std::string plot_file(const ReportSection& section, const ReportCurves& curves);

}  // namespace bdnn
