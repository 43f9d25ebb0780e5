// CSV files as the verbs take them: which columns are vectors, labels and ids.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "bdnn/vectors.h"
#include "cli/command.h"
#include "data/csv_rows.h"

namespace bdnn::cli {

// --columns, --drop, --label-column and --id-column. They hold for every CSV file of a command.
class CsvInput {
 public:
  void add_options(Verb verb);  // verbs that share their arguments may each add them

  // Raises misuse if columns were chosen and none of these files is CSV. Empty paths are passed over.
  void check(const std::vector<std::string>& paths) const;

  // The file, with the columns that were chosen if it is CSV.
  VectorsFile file(const std::string& path) const;

  // Where the labels of the vectors in `path` are: in `labels` if that is given, else in their own column if they have
  // one; with an empty path if neither.
  VectorsFile labels(const std::string& labels, const std::string& path) const;

  const CsvColumns& columns() const { return columns_; }

 private:
  CsvColumns columns_;
  std::vector<Option> options_;
};

// Does the work; where a column of text is met among numbers, the message says which option helps.
template <class Work>
auto with_column_hint(const Work& work) {
  try {
    return work();
  } catch (const csv::TextColumn& error) {
    const std::string& column = error.column();
    failure("{}; leave the column out by --drop {}, or use it by --label-column {} or --id-column {}", error.what(),
            column, column, column);
  }
}

}  // namespace bdnn::cli
