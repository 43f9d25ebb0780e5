#include "cli/csv_input.h"

#include <algorithm>

#include "data/format.h"

namespace bdnn::cli {

void CsvInput::add_options(Verb verb) {
  const Option columns = verb.texts("--columns", columns_.vectors,
                                    "For CSV files: the columns that make up the vectors, by name or number, such as\n"
                                    "width,height or 2-785 (default: all columns not named below)")
                             .separated_by(',')
                             .one_at_a_time();
  Option drop = verb.texts("--drop", columns_.drop, "For CSV files: columns to leave out").separated_by(',');
  drop.one_at_a_time().excludes(columns);
  const Option label =
      verb.text("--label-column", columns_.label, "For CSV files: column of labels, which is left out of the vectors");
  const Option id =
      verb.text("--id-column", columns_.id, "For CSV files: column of ids or names, which is left out of the vectors");
  options_.insert(options_.end(), {columns, drop, label, id});
}

void CsvInput::check(const std::vector<std::string>& paths) const {
  if (columns_.empty()) return;
  const auto csv = [](const std::string& path) { return !path.empty() && is_csv(path); };
  if (!std::any_of(paths.begin(), paths.end(), csv)) refuse(options_, "to files other than CSV");
}

VectorsFile CsvInput::file(const std::string& path) const {
  return columns_.empty() || path.empty() || !is_csv(path) ? VectorsFile(path) : VectorsFile(path, columns_);
}

VectorsFile CsvInput::labels(const std::string& labels, const std::string& path) const {
  if (!labels.empty()) return VectorsFile(labels);
  const VectorsFile own = file(path);
  return own.columns.label.empty() ? VectorsFile("") : own;
}

}  // namespace bdnn::cli
