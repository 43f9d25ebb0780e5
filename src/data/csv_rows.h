// The rows of a CSV file, and the names of its columns.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "bdnn/error.h"
#include "data/csv_cells.h"
#include "data/text_lines.h"

namespace bdnn::csv {

// Raised for a column of text among numbers. The program adds the options that help.
class TextColumn final : public Error {
 public:
  TextColumn(const std::string& message, std::string column)
      : Error(Kind::failure, message), column_(std::move(column)) {}
  const std::string& column() const { return column_; }  // its name, or its number

 private:
  std::string column_;
};

// The rows of a file, in the order of its lines. Its first line is a heading if it has names and no number; or if some
// column is requested by name; or if it is a library's heading for columns without names: 0, 1, 2, ... with at least
// one text above a number.
class Rows {
 public:
  explicit Rows(const Source& source);

  // Calls f(cell, column) for each cell of the next row, columns from 0; false after the last row.
  template <class F>
  bool next(F&& f) {
    const auto line = next_line();
    if (!line) return false;
    if (trimmed(*line).empty()) return only_blank_lines_follow();
    std::size_t column = 0;
    split(*line, separator_, [&](std::string_view cell) { f(cell, column++); });
    if (column != width_) different_length(row_line_, column);
    return true;
  }

  std::size_t width() const { return width_; }    // columns of a row; 0 if there are no rows
  std::size_t line() const { return row_line_; }  // of the row that next() gave, from 1
  bool first() const { return row_line_ == first_line_; }

  // The columns that make up the vectors, and one column by its name or number; counted from 0. Raises Error if there
  // is no such column.
  std::vector<std::size_t> vector_columns() const;
  std::size_t column(const std::string& asked) const;

  // Raises Error that says why a cell is not a number.
  [[noreturn]] void not_a_number(std::string_view cell, std::size_t column, Parsed why) const;

  // "column 5 (species)"
  std::string describe(std::size_t column) const;

 private:
  struct Line {
    std::string text;
    std::size_t number;
  };

  bool is_heading(const std::string& line, const std::string* below) const;
  void take_heading(const std::string& line);
  std::optional<std::string_view> next_line();
  bool only_blank_lines_follow();
  [[noreturn]] void different_length(std::size_t line, std::size_t values) const;
  void add_columns(const std::string& asked, std::vector<std::size_t>& columns) const;

  std::string name_;
  CsvColumns columns_;
  TextLines lines_;
  char separator_ = kBlanks;
  std::vector<std::string> heading_;  // empty: there is none
  std::deque<Line> pending_;          // lines read ahead to detect the heading
  std::string current_;               // the last of them that next() returned
  std::size_t width_ = 0;
  std::size_t row_line_ = 0;
  std::size_t first_line_ = 0;
};

}  // namespace bdnn::csv
