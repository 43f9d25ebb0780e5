#include "data/csv_cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace bdnn::csv {
namespace {

std::string_view without_quotes(std::string_view cell) {
  return cell.size() >= 2 && cell.front() == '"' && cell.back() == '"' ? trimmed(cell.substr(1, cell.size() - 2))
                                                                       : cell;
}

template <class T>
Parsed parse_exactly(std::string_view cell, T& value) {
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  const char* const end = cell.data() + cell.size();
  const auto [next, error] = std::from_chars(cell.data(), end, value);
  if (next != end || error == std::errc::invalid_argument) return Parsed::no;
  return error == std::errc() ? Parsed::yes : Parsed::out_of_range;
}

template <class T>
Parsed parse_real(std::string_view cell, T& value) {
  cell = without_quotes(cell);
  const Parsed parsed = parse_exactly(cell, value);
  if (parsed != Parsed::out_of_range) return parsed;
  // from_chars tells too small from too large only by a type of wider range; beyond that, by the exponent's sign.
  long double wide = 0;
  const bool small = parse_exactly(cell, wide) == Parsed::yes
                         ? std::fabs(wide) < 1
                         : cell.find("e-") != std::string_view::npos || cell.find("E-") != std::string_view::npos;
  if (!small) return Parsed::out_of_range;
  value = cell.starts_with('-') ? -T{0} : T{0};
  return Parsed::yes;
}

}  // namespace

char separator_of(std::string_view line) {
  for (const char separator : {'\t', ';', ','}) {
    if (cell_end(line, separator) < line.size()) return separator;
  }
  return kBlanks;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

std::size_t cell_end(std::string_view line, char separator) {
  // Quotes are quotes at the start of a cell only: 5" is five inches.
  std::size_t at = 0;
  while (at < line.size() && (line[at] == ' ' || (line[at] == '\t' && separator != '\t'))) ++at;
  if (at < line.size() && line[at] == '"') {
    for (++at; at < line.size(); ++at) {
      if (line[at] != '"') continue;
      if (at + 1 == line.size() || line[at + 1] != '"') break;
      ++at;  // "" stands for a quote
    }
  } else {
    at = 0;
  }
  return std::min(separator == kBlanks ? line.find_first_of(" \t", at) : line.find(separator, at), line.size());
}

Parsed parse(std::string_view cell, std::int64_t& value) { return parse_exactly(without_quotes(cell), value); }
Parsed parse(std::string_view cell, std::uint64_t& value) { return parse_exactly(without_quotes(cell), value); }
Parsed parse(std::string_view cell, float& value) { return parse_real(cell, value); }
Parsed parse(std::string_view cell, double& value) { return parse_real(cell, value); }

bool is_number(std::string_view cell) {
  double value = 0;
  return !cell.starts_with('"') && parse_exactly(cell, value) != Parsed::no;
}

std::optional<std::string> text_in(std::string_view cell) {
  if (!cell.starts_with('"')) return std::string(cell);
  if (cell.size() < 2 || !cell.ends_with('"')) return std::nullopt;
  cell = cell.substr(1, cell.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] == '"' && !cell.substr(++i).starts_with('"')) return std::nullopt;
    text.push_back(cell[i]);
  }
  return text;
}

}  // namespace bdnn::csv
