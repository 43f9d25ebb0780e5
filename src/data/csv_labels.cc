#include "data/csv_labels.h"

#include <cmath>

#include "base/error.h"
#include "data/csv_rows.h"

namespace bdnn::csv {
namespace {

constexpr std::string_view kUnlabelled = "-1";

bool is_finite(std::string_view cell) {
  double value = 0;
  return is_number(cell) && parse(cell, value) == Parsed::yes && std::isfinite(value);
}

bool is_integer(std::string_view cell) {
  std::int64_t value = 0;
  return is_number(cell) && parse(cell, value) == Parsed::yes;
}

bool holds_numbers_only(std::string_view row) {
  bool numbers = true;
  split(row, separator_of(row), [&](std::string_view cell) { numbers &= is_finite(cell); });
  return numbers;
}

// Whether labels are names. Text in the first row may be the heading of numbers: the next row that has a label decides.
bool holds_names(const Source& source) {
  TextLines lines(source);
  bool first = true;
  bool names = false;
  while (const auto line = lines.next()) {
    const auto row = trimmed(*line);
    if (row.empty() || row.starts_with('#') || (!first && row == kUnlabelled)) continue;
    names = !holds_numbers_only(row);
    if (!first || (!names && row != kUnlabelled)) break;
    first = false;
  }
  return names;
}

// Labels made from names.
class NamedLabels {
 public:
  NamedLabels(std::string file, LabelNames* names) : file_(std::move(file)), names_(names) {}

  void add(std::string_view cell, std::size_t line) {
    if (cell == kUnlabelled) return labels_.push_back(-1);
    if (is_finite(cell)) {
      failure("{}: line {} has the number {} among names; put it in quotes if it is a name", file_, line, cell);
    }
    const auto name = text_in(cell);
    if (!name)
      failure("{}: line {}: the quotes of a name are not closed, or do not enclose the whole name", file_, line);
    if (name->empty()) lacks_a_name(line);
    labels_.push_back(label_of(*name));
    if (names_ != nullptr) names_->emplace(labels_.back(), *name);
  }

  [[noreturn]] void lacks_a_name(std::size_t line) const {
    failure("{}: line {} lacks a name; write -1 for a vector without one", file_, line);
  }

  bool empty() const { return labels_.empty(); }
  std::vector<std::int64_t> take() { return std::move(labels_); }

 private:
  std::string file_;
  LabelNames* names_;
  std::vector<std::int64_t> labels_;
};

// One name per line, or one line of names.
std::vector<std::int64_t> read_names(const Source& source, LabelNames* names) {
  NamedLabels labels(source.path, names);
  TextLines lines(source);
  std::size_t rows = 0;
  std::size_t blank = 0;
  std::size_t widest = 0;  // the line that has several
  while (const auto line = lines.next()) {
    const auto row = trimmed(*line);
    if (labels.empty() && (row.empty() || row.starts_with('#'))) continue;
    if (row.empty()) {
      if (blank == 0) blank = lines.number();
      continue;
    }
    if (blank != 0) labels.lacks_a_name(blank);
    ++rows;
    std::size_t cells = 0;
    const auto add = [&](std::string_view cell) {
      labels.add(cell, lines.number());
      ++cells;
    };
    // A name may contain blanks.
    const char separator = separator_of(row);
    separator == kBlanks ? add(row) : split(row, separator, add);
    if (cells > 1 && widest == 0) widest = lines.number();
    if (rows > 1 && widest != 0) {
      failure(
          "{}: line {} has several names; labels must be one column or one row (put a name that has commas in quotes)",
          source.path, widest);
    }
  }
  return labels.take();
}

// Calls f(cell, line) for the cells of a column, quotes included.
template <class F>
void for_each_cell(const Source& source, const std::string& column, const F& f) {
  Rows rows(source);
  if (rows.width() == 0) failure("{}: has no rows", source.path);
  const std::size_t wanted = rows.column(column);
  std::string_view found;
  while (rows.next([&](std::string_view cell, std::size_t at) {
    if (at == wanted) found = cell;
  })) {
    f(found, rows.line());
  }
}

// Integers if all cells are, else names.
std::vector<std::int64_t> read_label_column(const Source& source, LabelNames* names) {
  const std::string& column = source.columns.label;
  bool integers = true;
  for_each_cell(source, column, [&](std::string_view cell, std::size_t) { integers = integers && is_integer(cell); });
  std::vector<std::int64_t> labels;
  NamedLabels named(source.path, names);
  for_each_cell(source, column, [&](std::string_view cell, std::size_t line) {
    if (!integers) return named.add(cell, line);
    parse(cell, labels.emplace_back());
  });
  return integers ? labels : named.take();
}

}  // namespace

std::vector<std::string> column_of(const Source& source, const std::string& column) {
  std::vector<std::string> cells;
  for_each_cell(source, column, [&](std::string_view cell, std::size_t line) {
    const auto text = text_in(cell);
    if (!text)
      failure("{}: line {}: the quotes of '{}' are not closed, or do not enclose the whole cell", source.path, line,
              cell);
    if (text->empty()) failure("{}: line {} has nothing in column {}", source.path, line, column);
    cells.push_back(*text);
  });
  return cells;
}

std::vector<std::int64_t> labels(const Source& source, LabelNames* names) {
  if (!source.columns.label.empty()) return read_label_column(source, names);
  return holds_names(source) ? read_names(source, names) : std::vector<std::int64_t>();
}

}  // namespace bdnn::csv
