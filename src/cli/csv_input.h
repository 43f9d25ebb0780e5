// CSV files as the verbs take them: which columns are vectors, labels and ids.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "bdnn/vectors.h"
#include "cli/command.h"
#include "data/csv_rows.h"

namespace bdnn::cli {

// --columns, --drop, --label-column and --id-column. They apply to every CSV file of a command.
class CsvInput {
 public:
  void add_options(Verb verb);  // verbs that share their arguments may each add them

  // Raises misuse if columns were chosen and none of these files is CSV. Empty paths are ignored.
  void check(const std::vector<std::string>& paths) const;

  // The file, with the columns that were chosen if it is CSV.
  VectorsFile file(const std::string& path) const;

  // The file with the labels of the vectors in `path`: `labels` if given, else the label column of `path` if it has
  // one, else an empty path.
  VectorsFile labels(const std::string& labels, const std::string& path) const;

  const CsvColumns& columns() const { return columns_; }

 private:
  CsvColumns columns_;
  std::vector<Option> options_;
};

// Runs work(); an error about a column of text among numbers also names the options that help.
template <class Work>
auto with_column_hint(const Work& work) {
  try {
    return work();
  } catch (const csv::TextColumn& error) {
    const std::string& column = error.column();
    failure("{}; leave the column out with --drop {}, or use it with --label-column {} or --id-column {}", error.what(),
            column, column, column);
  }
}

}  // namespace bdnn::cli
