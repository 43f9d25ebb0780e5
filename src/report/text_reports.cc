#include "report/text_reports.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "report/markup.h"
#include "report/section_plots.h"

namespace bdnn {
namespace {

// Markdown renders HTML, and a bar would end the cell.
std::string in_markdown(const std::string& text) {
  std::string out;
  for (const char c : escaped(text)) {
    if (c == '|' || c == '*' || c == '_' || c == '`' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string bold_if(bool best, const std::string& text) { return best ? "**" + text + "**" : text; }

std::string ours_in_markdown(const ReportValue& value) {
  if (!value.ours) return "–";
  std::string text = bold_if(value.best, fmt::format("{:.2f}", *value.ours));
  return value.seeds > 1 ? text + fmt::format(" ({:.2f})", value.spread()) : text;
}

std::string paper_in_markdown(const ReportValue& value) {
  if (!value.paper) return "–";
  std::string text = bold_if(value.best_of_paper, fmt::format("{:.2f}", *value.paper));
  if (const auto difference = value.difference()) text += fmt::format(", {:+.2f}", *difference);
  return text;
}

std::string table_in_markdown(const ReportSection& section, const ReportTable& table) {
  std::string out = fmt::format("### {}{}\n\n", in_markdown(table.title), table.percent ? ", percent" : "");
  const std::size_t seeds = section.record.plan.seeds.size();
  out += seeds > 1 ? fmt::format("Mean of {} seeds, spread in brackets.", seeds) : "One seed.";
  if (!table.paper.empty()) {
    out += fmt::format(" Rows “paper”: its figure ({}), and ours minus it.", in_markdown(table.paper));
  }
  out += " Bold: the best at that length.\n\n|";
  std::string rule = "\n|---|";
  for (const std::size_t bits : table.bits) {
    out += fmt::format(" | {} bits", bits);
    rule += "---:|";
  }
  out += " |" + rule + "\n";
  for (const auto& row : table.rows) {
    out += "| " + in_markdown(row.label);
    for (const auto& value : row.values) out += " | " + ours_in_markdown(value);
    out += " |\n";
    if (!row.is_in_paper()) continue;
    out += "| paper";
    for (const auto& value : row.values) out += " | " + paper_in_markdown(value);
    out += " |\n";
  }
  return out + "\n";
}

// Quoted if it must be.
std::string in_csv(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string number_or_nothing(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

Json json_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json json_of_table(const ReportTable& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < table.bits.size(); ++i) {
      const ReportValue& value = row.values[i];
      rows.push_back({{"method", row.label},
                      {"bits", table.bits[i]},
                      {"ours", json_or_null(value.ours)},
                      {"spread", value.ours ? Json(value.spread()) : Json()},
                      {"seeds", value.seeds},
                      {"paper", json_or_null(value.paper)},
                      {"difference", json_or_null(value.difference())},
                      {"best", value.best}});
    }
  }
  return {{"metric", table.metric}, {"percent", table.percent}, {"paper", table.paper}, {"rows", rows}};
}

}  // namespace

std::string markdown_of(const ReportData& report) {
  std::string out;
  for (const auto& section : report.sections) {
    const ExperimentPlan& plan = section.record.plan;
    out += fmt::format("## {}\n\n", in_markdown(plan.title));
    if (!plan.description.empty()) out += in_markdown(plan.description) + "\n\n";
    if (plan.quick) out += "A quick run on a small part of the data: a preview, not for comparison.\n\n";
    out += "    $ " + section.command + "\n\n";
    if (section.finished < plan.cells()) {
      out += fmt::format("{} of {} cells are finished.\n\n", section.finished, plan.cells());
    }
    for (const auto& table : section.tables) {
      out += table_in_markdown(section, table);
      out += fmt::format("![{}](plots/{})\n\n", in_markdown(table.title), plot_file(section, table));
    }
    for (const auto& fact : section.record.facts) out += "- " + in_markdown(fact) + "\n";
    out += fmt::format("- {} of work ({})\n\n", duration_in_words(section.seconds), section.times);
  }
  for (const auto& environment : report.environments) {
    for (const auto& [name, value] : environment)
      out += fmt::format("- {}: {}\n", in_markdown(name), in_markdown(value));
    out += "\n";
  }
  return out + in_markdown(report.date) + "\n";
}

std::string csv_of(const ReportData& report) {
  std::string out = "experiment,metric,method,bits,ours,spread,seeds,paper,difference\n";
  for (const auto& section : report.sections) {
    for (const auto& table : section.tables) {
      for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < table.bits.size(); ++i) {
          const ReportValue& value = row.values[i];
          out += fmt::format("{},{},{},{},{},{},{},{},{}\n", in_csv(section.record.plan.name), in_csv(table.metric),
                             in_csv(row.label), table.bits[i], number_or_nothing(value.ours),
                             value.ours ? fmt::format("{}", value.spread()) : "", value.seeds,
                             number_or_nothing(value.paper), number_or_nothing(value.difference()));
        }
      }
    }
  }
  return out;
}

std::string json_of(const ReportData& report) {
  Json sections = Json::array();
  for (const auto& section : report.sections) {
    Json tables = Json::array();
    for (const auto& table : section.tables) tables.push_back(json_of_table(table));
    Json codes = Json::array();
    for (const auto& row : section.codes) {
      Json entry = {{"method", row.label}, {"bits", section.longest}, {"train_seconds", row.train_seconds}};
      for (const auto& [name, value] : row.statistics) entry.add(name, value);
      codes.push_back(entry);
    }
    sections.push_back({{"name", section.record.plan.name},
                        {"title", section.record.plan.title},
                        {"quick", section.record.plan.quick},
                        {"finished", section.finished},
                        {"cells", section.record.plan.cells()},
                        {"seconds", section.seconds},
                        {"tables", tables},
                        {"codes", codes}});
  }
  return Json({{"date", report.date}, {"experiments", sections}}).indented_text() + "\n";
}

}  // namespace bdnn
