#include "data/csv_rows.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/nearest_name.h"

namespace bdnn::csv {
namespace {

bool says_nothing(std::string_view line) { return trimmed(line).empty() || line.starts_with('#'); }

// "7", or "2-785".
struct Numbers {
  std::size_t first = 0;
  std::size_t last = 0;
};
std::optional<Numbers> numbers_in(std::string_view text) {
  const auto whole = [](std::string_view digits, std::size_t& value) {
    std::uint64_t number = 0;
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return false;
    if (parse(digits, number) != Parsed::yes) return false;
    value = number;
    return true;
  };
  Numbers numbers;
  const auto dash = text.find('-');
  if (!whole(text.substr(0, dash), numbers.first)) return std::nullopt;
  if (dash == std::string_view::npos) return Numbers{numbers.first, numbers.first};
  if (!whole(text.substr(dash + 1), numbers.last)) return std::nullopt;
  return numbers;
}

// Whether a column is requested by name, so that there must be a heading.
bool asks_for_names(const CsvColumns& columns) {
  const auto is_name = [](const std::string& asked) { return !asked.empty() && !numbers_in(asked); };
  return is_name(columns.label) || is_name(columns.id) ||
         std::any_of(columns.vectors.begin(), columns.vectors.end(), is_name) ||
         std::any_of(columns.drop.begin(), columns.drop.end(), is_name);
}

// Markers of missing values are not column names.
bool is_missing_value(std::string_view cell) {
  for (const std::string_view missing : {"NA", "N/A", "na", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "-"}) {
    if (cell == missing) return true;
  }
  return cell.empty();
}

}  // namespace

Rows::Rows(const Source& source) : name_(source.path), columns_(source.columns), lines_(source) {
  auto line = lines_.next();
  while (line && says_nothing(*line)) line = lines_.next();
  if (!line) return;
  separator_ = separator_of(*line);
  pending_.push_back({std::string(*line), lines_.number()});
  line = lines_.next();
  if (line) pending_.push_back({std::string(*line), lines_.number()});
  if (is_heading(pending_.front().text, line ? &pending_.back().text : nullptr)) {
    take_heading(pending_.front().text);
    pending_.pop_front();
    while (!pending_.empty() && says_nothing(pending_.front().text)) {
      pending_.pop_front();
      if (const auto more = lines_.next()) pending_.push_back({std::string(*more), lines_.number()});
    }
  }
  if (pending_.empty()) return;
  first_line_ = pending_.front().number;
  split(pending_.front().text, separator_, [&](std::string_view) { ++width_; });
}

bool Rows::is_heading(const std::string& line, const std::string* below) const {
  if (asks_for_names(columns_)) return true;
  bool names = false;
  std::size_t numbers = 0;
  bool counting = true;  // 0, 1, 2, ... or 1, 2, 3, ...
  std::uint64_t last = 0;
  std::vector<bool> is_name;
  split(line, separator_, [&](std::string_view cell) {
    is_name.push_back(!cell.empty() && !is_number(cell) && !is_missing_value(cell));
    if (cell.empty()) return;
    if (!is_number(cell)) {
      names = true;
      return;
    }
    std::uint64_t number = 0;
    counting = counting && parse(cell, number) == Parsed::yes && (numbers == 0 ? number <= 1 : number == last + 1);
    last = number;
    ++numbers;
  });
  if (numbers == 0) return names;
  constexpr std::size_t kConvincing = 4;
  if (!counting || numbers < kConvincing || below == nullptr) return false;
  bool text_over_number = false;
  std::size_t column = 0;
  split(*below, separator_, [&](std::string_view cell) {
    if (column < is_name.size() && is_name[column] && is_number(cell)) text_over_number = true;
    ++column;
  });
  return text_over_number;
}

void Rows::take_heading(const std::string& line) {
  split(line, separator_, [&](std::string_view cell) {
    const auto text = text_in(cell);
    heading_.push_back(text ? std::string(trimmed(*text)) : std::string(cell));
  });
}

std::optional<std::string_view> Rows::next_line() {
  if (pending_.empty()) {
    const auto line = lines_.next();
    row_line_ = lines_.number();
    return line;
  }
  current_ = std::move(pending_.front().text);
  row_line_ = pending_.front().number;
  pending_.pop_front();
  return current_;
}

bool Rows::only_blank_lines_follow() {
  const std::size_t blank = row_line_;
  while (const auto line = next_line()) {
    if (!trimmed(*line).empty()) different_length(blank, 0);
  }
  return false;
}

void Rows::different_length(std::size_t line, std::size_t values) const {
  failure("{}: line {} has {} values, the first row has {}; all rows must have the same", name_, line, values, width_);
}

std::string Rows::describe(std::size_t column) const {
  if (heading_.size() != width_ || heading_[column].empty()) return fmt::format("column {}", column + 1);
  return fmt::format("column {} ({})", column + 1, heading_[column]);
}

void Rows::not_a_number(std::string_view cell, std::size_t column, Parsed why) const {
  if (cell.empty()) failure("{}: line {} has nothing in {}", name_, row_line_, describe(column));
  constexpr std::size_t kShown = 40;
  std::string shown(cell.substr(0, kShown));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  const std::string message = fmt::format(
      "{}: line {}, {}: '{}{}' is {}", name_, row_line_, describe(column), shown, cell.size() > kShown ? "..." : "",
      why == Parsed::out_of_range ? "too large for a 64-bit float" : "not a number");
  // A word further down is a mistake; one in the first row shows what the column holds.
  if (why == Parsed::out_of_range || !first()) throw Error(Error::Kind::failure, message);
  const bool named = heading_.size() == width_ && !heading_[column].empty();
  throw TextColumn(message, named ? heading_[column] : std::to_string(column + 1));
}

void Rows::add_columns(const std::string& asked, std::vector<std::size_t>& columns) const {
  if (width_ == 0) failure("{}: has no rows", name_);
  const auto named = std::find(heading_.begin(), heading_.end(), asked);
  if (named != heading_.end()) {
    if (heading_.size() != width_) {
      failure("{}: its heading has {} names and its first row {} values; give columns by number", name_,
              heading_.size(), width_);
    }
    if (std::find(named + 1, heading_.end(), asked) != heading_.end()) {
      misuse("{}: has two columns '{}'; give their numbers, from 1", name_, asked);
    }
    columns.push_back(static_cast<std::size_t>(named - heading_.begin()));
    return;
  }
  if (const auto numbers = numbers_in(asked)) {
    if (numbers->first < 1 || numbers->last > width_ || numbers->first > numbers->last) {
      misuse("{}: has columns 1 to {}, not {}", name_, width_, asked);
    }
    for (std::size_t number = numbers->first; number <= numbers->last; ++number) columns.push_back(number - 1);
    return;
  }
  constexpr std::size_t kShown = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(heading_.size(), kShown); ++i) list += (i > 0 ? ", " : "") + heading_[i];
  if (heading_.size() > kShown) list += fmt::format(" and {} more", heading_.size() - kShown);
  misuse("{}: has no column '{}'{} Its heading is: {}", name_, asked,
         nearest_name(asked, heading_).empty() ? "." : did_you_mean(asked, heading_), list);
}

std::size_t Rows::column(const std::string& asked) const {
  std::vector<std::size_t> found;
  add_columns(asked, found);
  if (found.size() != 1) misuse("{}: '{}' is more than one column; give a single one", name_, asked);
  return found.front();
}

std::vector<std::size_t> Rows::vector_columns() const {
  std::vector<std::size_t> wanted;
  for (const auto& asked : columns_.vectors) add_columns(asked, wanted);
  std::vector<std::size_t> others;
  for (const auto& asked : columns_.drop) add_columns(asked, others);
  if (!columns_.label.empty()) others.push_back(column(columns_.label));
  if (!columns_.id.empty()) others.push_back(column(columns_.id));
  std::vector<bool> taken(width_);
  if (wanted.empty()) {
    for (const std::size_t c : others) taken[c] = true;
    for (std::size_t c = 0; c < width_; ++c) {
      if (!taken[c]) wanted.push_back(c);
    }
    if (wanted.empty() && width_ > 0) misuse("{}: no column is left for the vectors", name_);
    return wanted;
  }
  for (const std::size_t c : wanted) {
    if (taken[c]) misuse("{}: {} is named twice", name_, describe(c));
    taken[c] = true;
  }
  return wanted;
}

}  // namespace bdnn::csv
