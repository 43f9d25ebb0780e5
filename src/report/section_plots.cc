#include "report/section_plots.h"

#include <algorithm>

#include "base/error.h"

namespace bdnn {
namespace {

// Letters, digits, '-', '.' and '_' as they are; anything else becomes '-'.
std::string as_file_name(std::string text) {
  for (char& c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    if (!plain) c = '-';
  }
  return text;
}

std::string title_of(const ReportSection& section) {
  return section.record.plan.title + (section.record.plan.quick ? " (a quick run)" : "");
}

}  // namespace

Plot plot_of(const ReportSection& section, const ReportTable& table) {
  Plot plot{.title = title_of(section), .x_label = "bits", .y_label = table.metric};
  if (table.percent) plot.y_label += ", %";
  std::vector<std::size_t> order(table.bits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return table.bits[a] < table.bits[b]; });
  for (const std::size_t i : order) plot.x_ticks.push_back(static_cast<double>(table.bits[i]));
  for (std::size_t r = 0; r < section.record.plan.methods.size(); ++r) {
    const ReportRow& row = table.rows[r];
    PlotSeries series{row.label, r, {}};
    for (const std::size_t i : order) {
      const ReportValue& value = row.values[i];
      if (!value.ours) continue;
      std::string note =
          fmt::format("{}, {} bits: {:.2f}{}", row.label, table.bits[i], *value.ours, table.percent ? " %" : "");
      if (value.seeds > 1) note += fmt::format(" (spread {:.2f} over {} seeds)", value.spread(), value.seeds);
      if (value.paper) note += fmt::format("; paper {:.2f}", *value.paper);
      series.points.push_back({static_cast<double>(table.bits[i]), *value.ours, value.least, value.most, note});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

Plot plot_of(const ReportSection& section, const ReportCurves& curves) {
  Plot plot{.title = fmt::format("{}, {} bits", title_of(section), curves.bits),
            .x_label = "recall, %",
            .y_label = "precision, %",
            .x_most = 100,
            .markers = false};
  for (const auto& curve : curves.curves) {
    PlotSeries series{curve.label, curve.row, {}};
    for (const auto& point : curve.points) {
      series.points.push_back({point.recall, point.precision, 0, 0,
                               fmt::format("{}, distance {}: precision {:.2f} %, recall {:.2f} %", curve.label,
                                           point.radius, point.precision, point.recall)});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

std::string plot_file(const ReportSection& section, const ReportTable& table) {
  return as_file_name(section.record.plan.name + "-" + table.metric) + ".svg";
}

std::string plot_file(const ReportSection& section, const ReportCurves& curves) {
  return as_file_name(fmt::format("{}-precision-recall-{}", section.record.plan.name, curves.bits)) + ".svg";
}

}  // namespace bdnn
