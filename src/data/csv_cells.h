// The cells of a line of CSV, and the numbers and names in them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bdnn::csv {

inline constexpr char kBlanks = ' ';  // as a separator: any run of spaces and tabs

// Tab, semicolon or comma, the first of these that the line has outside of quotes; else kBlanks.
char separator_of(std::string_view line);

std::string_view trimmed(std::string_view text);

// The end of the first cell of a line: the position of its separator, outside of quotes, or the end of the line.
std::size_t cell_end(std::string_view line, char separator);

// Calls f(cell) for each cell of a line, quotes included.
template <class F>
void split(std::string_view line, char separator, F&& f) {
  if (separator != kBlanks) {
    for (;;) {
      const std::size_t end = cell_end(line, separator);
      f(trimmed(line.substr(0, end)));
      if (end == line.size()) return;
      line.remove_prefix(end + 1);
    }
  }
  for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
    const std::size_t end = cell_end(line, separator);
    f(line.substr(0, end));
    line.remove_prefix(end);
  }
}

enum class Parsed { yes, no, out_of_range };

// The number in a cell, between quotes or not. One too small for its type is zero; one too large is out of range.
Parsed parse(std::string_view cell, std::int64_t& value);
Parsed parse(std::string_view cell, std::uint64_t& value);
Parsed parse(std::string_view cell, float& value);
Parsed parse(std::string_view cell, double& value);

// Whether a cell without quotes is a number.
bool is_number(std::string_view cell);

// The text in a cell: the cell itself, or the text between its quotes, in which "" is a quote; nullopt if the quotes
// are not closed or do not enclose the whole cell.
std::optional<std::string> text_in(std::string_view cell);

}  // namespace bdnn::csv
