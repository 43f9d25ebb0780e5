#include "report/write_report.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "report/html.h"
#include "report/section_plots.h"
#include "report/text_reports.h"

namespace bdnn {
namespace {

void write(const std::string& path, const std::string& text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace

std::string write_report(const ResultsFile& results, const std::string& folder) {
  const ReportData report = report_data(results);
  const std::string plots = folder + "/plots";
  std::error_code error;
  std::filesystem::create_directories(plots, error);
  if (error) failure("{}: cannot make this folder: {}", plots, error.message());
  for (const auto& section : report.sections) {
    for (const auto& table : section.tables) {
      write(plots + "/" + plot_file(section, table), standalone_svg(plot_of(section, table)));
    }
    for (const auto& curves : section.curves) {
      write(plots + "/" + plot_file(section, curves), standalone_svg(plot_of(section, curves)));
    }
  }
  write(folder + "/report.md", markdown_of(report));
  write(folder + "/report.csv", csv_of(report));
  write(folder + "/report.json", json_of(report));
  const std::string page = folder + "/report.html";
  write(page, html_of(report));
  return page;
}

}  // namespace bdnn
