#include "report/report_data.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/with_commas.h"
#include "experiment/cell_status.h"
#include "experiment/mean_and_spread.h"

namespace bdnn {
namespace {

double rounded(double value) { return std::round(100 * value) / 100; }

const double* find(const NamedValues& values, const std::string& name) {
  for (const auto& [key, value] : values) {
    if (key == name) return &value;
  }
  return nullptr;
}

// The finished cells of an experiment: by method, then length; one per seed.
class CellsOf {
 public:
  CellsOf(const ExperimentRecord& record, const ResultsFile& results) {
    for (const PlannedCell& planned : planned_cells(record.plan, record.setting)) {
      if (const Cell* cell = results.find(planned.key)) cells_[planned.label][planned.key.bits].push_back(cell);
    }
  }

  const std::vector<const Cell*>& of(const std::string& label, std::size_t bits) const {
    static const std::vector<const Cell*> kNone;
    const auto method = cells_.find(label);
    if (method == cells_.end()) return kNone;
    const auto length = method->second.find(bits);
    return length == method->second.end() ? kNone : length->second;
  }

  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [label, lengths] : cells_) {
      for (const auto& [bits, cells] : lengths) {
        for (const Cell* cell : cells) visit(*cell);
      }
    }
  }

 private:
  std::map<std::string, std::map<std::size_t, std::vector<const Cell*>>> cells_;
};

std::optional<double> paper_value(const PaperFigures& paper, const std::string& label, std::size_t bits) {
  const auto row = paper.percent.find(label);
  const auto at = std::find(paper.bits.begin(), paper.bits.end(), bits);
  if (row == paper.percent.end() || at == paper.bits.end()) return std::nullopt;
  return row->second[static_cast<std::size_t>(at - paper.bits.begin())];
}

// Marks the largest of each column, as far as two digits tell.
template <class Of>
void mark_best(ReportTable& table, const Of& of, bool ReportValue::*mark) {
  for (std::size_t column = 0; column < table.bits.size(); ++column) {
    std::optional<double> most;
    for (const auto& row : table.rows) {
      if (const auto value = of(row.values[column])) most = std::max(most.value_or(*value), *value);
    }
    for (auto& row : table.rows) {
      const auto value = of(row.values[column]);
      row.values[column].*mark = value && rounded(*value) == rounded(*most);
    }
  }
}

ReportTable table_of(const ExperimentPlan& plan, const CellsOf& cells, const std::string& metric) {
  ReportTable table{.metric = metric, .title = metric_in_words(metric), .paper = {}, .bits = plan.bits, .rows = {}};
  table.percent = !metric.starts_with("looked_at");
  const PaperFigures* paper = nullptr;
  for (const auto& figures : plan.paper) {
    if (figures.metric == metric && !plan.quick) paper = &figures;  // a quick run does not compare
  }
  std::vector<std::string> labels;
  for (const auto& method : plan.methods) labels.push_back(method.label);
  if (paper != nullptr) {
    table.paper = paper->source;
    for (const auto& [label, values] : paper->percent) {
      if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
    }
  }
  for (const auto& label : labels) {
    ReportRow row{label, {}};
    for (const std::size_t bits : plan.bits) {
      ReportValue value;
      std::vector<double> of_seeds;
      for (const Cell* cell : cells.of(label, bits)) {
        if (const double* found = find(cell->values, metric)) of_seeds.push_back((table.percent ? 100 : 1) * *found);
      }
      if (!of_seeds.empty()) {
        value.ours = mean_and_spread(of_seeds).mean;
        value.least = *std::min_element(of_seeds.begin(), of_seeds.end());
        value.most = *std::max_element(of_seeds.begin(), of_seeds.end());
        value.seeds = of_seeds.size();
      }
      if (paper != nullptr) value.paper = paper_value(*paper, label, bits);
      row.values.push_back(value);
    }
    table.rows.push_back(std::move(row));
  }
  mark_best(
      table, [](const ReportValue& value) { return value.ours; }, &ReportValue::best);
  mark_best(
      table, [](const ReportValue& value) { return value.paper; }, &ReportValue::best_of_paper);
  return table;
}

ReportCurves curves_of(const ExperimentPlan& plan, const CellsOf& cells, std::size_t bits) {
  ReportCurves result{bits, {}};
  for (std::size_t m = 0; m < plan.methods.size(); ++m) {
    ReportCurve curve{plan.methods[m].label, m, {}};
    const auto& runs = cells.of(curve.label, bits);
    std::size_t length = runs.empty() ? 0 : runs.front()->curve.size();
    for (const Cell* cell : runs) length = std::min(length, cell->curve.size());
    for (std::size_t radius = 0; radius < length; ++radius) {
      std::vector<double> precision;
      std::vector<double> recall;
      for (const Cell* cell : runs) {
        precision.push_back(100 * cell->curve[radius].precision);
        recall.push_back(100 * cell->curve[radius].recall);
      }
      curve.points.push_back({radius, mean_and_spread(precision).mean, mean_and_spread(recall).mean});
    }
    if (!curve.points.empty()) result.curves.push_back(std::move(curve));
  }
  return result;
}

std::optional<ReportCodes> codes_of(const std::string& label, const std::vector<const Cell*>& runs) {
  if (runs.empty()) return std::nullopt;
  ReportCodes codes{label, 0, {}};
  for (const Cell* cell : runs) {
    const auto share = static_cast<double>(runs.size());
    codes.train_seconds += cell->train_seconds / share;
    for (const auto& [name, value] : cell->codes) codes.statistics[name] += value / share;
  }
  return codes;
}

template <class Values>
std::string joined(const Values& values) {
  std::string text;
  for (const auto& value : values) text += fmt::format("{}{}", text.empty() ? "" : ",", value);
  return text;
}

// Quoted as one word for a shell.
std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./,:+=@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// The command that runs the experiment again, from the folder where it was run: the data, and what differs from the
// experiment file.
std::string command_of(const ExperimentRecord& record) {
  const ExperimentPlan& plan = record.plan;
  std::string command = fmt::format("bdnn reproduce {} --data {}", shell_word(plan.path), shell_word(record.data));
  if (plan.quick) command += " --quick";
  ExperimentPlan file = parse_experiment(plan.text, plan.path);
  if (plan.quick) file = quick_version(file);
  if (file.bits != plan.bits) command += " --bits " + joined(plan.bits);
  if (file.seeds != plan.seeds) command += " --seeds " + joined(plan.seeds);
  const auto labels = [](const ExperimentPlan& of) {
    std::vector<std::string> names;
    for (const auto& method : of.methods) names.push_back(method.label);
    return joined(names);
  };
  if (labels(file) != labels(plan)) command += " --method " + shell_word(labels(plan));
  return command;
}

ReportSection section_of(const ExperimentRecord& record, const ResultsFile& results) {
  const ExperimentPlan& plan = record.plan;
  const CellsOf cells(record, results);
  ReportSection section;
  section.record = record;
  section.command = command_of(record);
  std::set<std::string> times;
  cells.for_each([&](const Cell& cell) {
    ++section.finished;
    section.seconds += cell.train_seconds + cell.measure_seconds;
    times.insert(fmt::format("{} cell{} at once, {} thread{} each", cell.cells_at_once,
                             cell.cells_at_once == 1 ? "" : "s", cell.threads, cell.threads == 1 ? "" : "s"));
  });
  for (const auto& text : times) section.times += (section.times.empty() ? "" : "; ") + text;
  for (const auto& metric : plan.metrics) section.tables.push_back(table_of(plan, cells, metric));
  for (const std::size_t bits : plan.bits) {
    ReportCurves curves = curves_of(plan, cells, bits);
    if (!curves.curves.empty()) section.curves.push_back(std::move(curves));
  }
  section.longest = *std::max_element(plan.bits.begin(), plan.bits.end());
  for (const auto& method : plan.methods) {
    const auto& runs = cells.of(method.label, section.longest);
    if (auto codes = codes_of(method.label, runs)) section.codes.push_back(std::move(*codes));
    for (const Cell* cell : runs) {
      if (cell->images.empty()) continue;
      section.images.push_back({method.label, cell->images});
      break;
    }
  }
  return section;
}

// "17 November 2026" from "2026-11-17T07:12:00Z"; a text of another form as it is.
std::string date_in_words(const std::string& stamp) {
  static constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                            "July",    "August",   "September", "October", "November", "December"};
  const auto digits = [&](std::size_t from, std::size_t count) {
    std::size_t value = 0;
    for (std::size_t i = from; i < from + count; ++i) {
      if (i >= stamp.size() || stamp[i] < '0' || stamp[i] > '9') return std::size_t{0};
      value = 10 * value + static_cast<std::size_t>(stamp[i] - '0');
    }
    return value;
  };
  const std::size_t month = digits(5, 2);
  if (digits(0, 4) == 0 || month == 0 || month > 12 || digits(8, 2) == 0) return stamp;
  return fmt::format("{} {} {}", digits(8, 2), kMonths[month - 1], digits(0, 4));
}

}  // namespace

bool ReportRow::is_in_paper() const {
  return std::any_of(values.begin(), values.end(), [](const ReportValue& value) { return value.paper.has_value(); });
}

std::optional<double> ReportValue::difference() const {
  if (!ours || !paper) return std::nullopt;
  return rounded(rounded(*ours) - *paper);
}

ReportData report_data(const ResultsFile& results) {
  ReportData report;
  std::string last;
  for (const auto& record : results.experiments()) {
    report.sections.push_back(section_of(record, results));
    CellsOf(record, results).for_each([&](const Cell& cell) {
      last = std::max(last, cell.finished);
      auto& known = report.environments;
      if (std::find(known.begin(), known.end(), cell.environment) == known.end()) known.push_back(cell.environment);
    });
  }
  report.date = date_in_words(last);
  return report;
}

std::string metric_in_words(const std::string& metric) {
  const auto at = metric.find('@');
  const std::string what = metric.substr(0, at);
  const std::string name = what == "mAP"             ? "Mean average precision"
                           : what == "mAP_trapezoid" ? "Mean average precision, by trapezoids"
                           : what == "precision"     ? "Precision"
                           : what == "recall"        ? "Recall"
                           : what == "nearest"       ? "How often the nearest neighbour is found"
                           : what == "empty"         ? "Queries that find nothing"
                           : what == "looked_at"     ? "Codes found"
                                                     : "";
  if (name.empty()) return metric;
  if (at == std::string::npos) return name;
  const std::string where = metric.substr(at + 1);
  if (where.starts_with("r")) return fmt::format("{} within Hamming distance {}", name, where.substr(1));
  return fmt::format("{} among the first {}", name, where);
}

std::string duration_in_words(double seconds) {
  if (!(seconds >= 0 && seconds < 1e12)) return "–";
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto minutes = static_cast<std::uint64_t>(seconds / 60);
  if (minutes < 60)
    return fmt::format("{} min {:.0f} s", minutes, std::floor(seconds - 60.0 * static_cast<double>(minutes)));
  return fmt::format("{} h {} min", with_commas(minutes / 60), minutes % 60);
}

}  // namespace bdnn
