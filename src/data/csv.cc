// Numbers as text, a vector per line: separated by commas, tabs, semicolons or blanks, perhaps under a line of names.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "data/element.h"
#include "data/format.h"

namespace bdnn {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 26;

// A file line by line, in memory of the longest line.
class Lines {
 public:
  explicit Lines(const Source& source) : name_(source.path), stream_(source.open()) {}

  std::size_t number() const { return number_; }  // of the line that next() gave, from 1

  // Without its end; none after the last. It stands until the next call.
  std::optional<std::string_view> next() {
    std::size_t searched = begin_;
    for (;;) {
      const void* end = searched == buffer_.size()
                            ? nullptr
                            : std::memchr(buffer_.data() + searched, '\n', buffer_.size() - searched);
      if (end != nullptr) {
        const auto at = static_cast<std::size_t>(static_cast<const char*>(end) - buffer_.data());
        return take(at, at + 1);
      }
      searched = buffer_.size() - begin_;
      if (!fill()) break;
    }
    if (begin_ == buffer_.size()) return std::nullopt;
    return take(buffer_.size(), buffer_.size());
  }

 private:
  std::string_view take(std::size_t end, std::size_t next) {
    if (end - begin_ > kLongestLine) too_long();
    std::string_view line(buffer_.data() + begin_, end - begin_);
    begin_ = next;
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    return line;
  }

  // Moves what is left to the front and adds to it; false at the end of the file.
  bool fill() {
    constexpr std::size_t kPiece = 1 << 18;
    buffer_.erase(0, begin_);
    begin_ = 0;
    if (buffer_.size() > kLongestLine) too_long();
    const std::size_t held = buffer_.size();
    // Doubling keeps the cost of a long line linear.
    buffer_.resize(held + std::max(kPiece, held));
    const std::size_t n = stream_->read_some(std::as_writable_bytes(std::span(buffer_)).subspan(held));
    buffer_.resize(held + n);
    if (const auto at = buffer_.find('\0', held); at != std::string::npos) {
      const auto line = number_ + 1 + static_cast<std::size_t>(std::count(buffer_.begin(), buffer_.begin() + at, '\n'));
      failure("{}: has a NUL byte in line {}; it is not text", name_, line);
    }
    return n > 0;
  }

  [[noreturn]] void too_long() const {
    failure("{}: line {} is over {} MB long; it is not text of one vector per line", name_, number_ + 1,
            kLongestLine >> 20);
  }

  std::string name_;
  std::unique_ptr<ByteStream> stream_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t number_ = 0;
};

constexpr char kBlanks = ' ';  // as a separator: any run of spaces and tabs

char separator_of(std::string_view line) {
  for (const char separator : {'\t', ';', ','}) {
    if (line.find(separator) != std::string_view::npos) return separator;
  }
  return kBlanks;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Calls f(token) for each value of a line.
template <class F>
void split(std::string_view line, char separator, F&& f) {
  if (separator != kBlanks) {
    for (;;) {
      const auto end = line.find(separator);
      f(trimmed(line.substr(0, end)));
      if (end == std::string_view::npos) return;
      line.remove_prefix(end + 1);
    }
  }
  for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
    const auto end = std::min(line.find_first_of(" \t"), line.size());
    f(line.substr(0, end));
    line.remove_prefix(end);
  }
}

enum class Parsed { yes, no, out_of_range };

template <class T>
Parsed parse(std::string_view token, T& value) {
  if (token.starts_with('+') && !token.starts_with("+-")) token.remove_prefix(1);
  const char* const end = token.data() + token.size();
  const auto [next, error] = std::from_chars(token.data(), end, value);
  if (next != end || error == std::errc::invalid_argument) return Parsed::no;
  return error == std::errc() ? Parsed::yes : Parsed::out_of_range;
}

// A number too small for a float is zero; one too large is an error.
Parsed parse_float(std::string_view token, float& value) {
  const Parsed parsed = parse(token, value);
  if (parsed != Parsed::out_of_range) return parsed;
  long double wide = 0;
  if (parse(token, wide) != Parsed::yes || std::fabs(wide) >= 1) return Parsed::out_of_range;
  value = std::copysign(0.0F, static_cast<float>(std::copysign(1.0L, wide)));
  return Parsed::yes;
}

bool is_number(std::string_view token) {
  float value = 0;
  return parse_float(token, value) != Parsed::no;
}

// The rows of a file, in the order of its lines.
class Rows {
 public:
  explicit Rows(const Source& source) : name_(source.path), lines_(source) {}

  // Calls f(token, column) for each value of the next row, columns from 1; false after the last row.
  template <class F>
  bool next(F&& f) {
    auto line = lines_.next();
    if (!separator_) line = first_row(line);
    if (!line) return false;
    if (trimmed(*line).empty()) return only_blank_lines_follow();
    std::size_t column = 0;
    split(*line, *separator_, [&](std::string_view token) { f(token, ++column); });
    if (dimension_ == 0) dimension_ = column;
    if (column != dimension_) different_length(lines_.number(), column);
    return true;
  }

  std::size_t dimension() const { return dimension_; }

  [[noreturn]] void not_a_number(std::string_view token, std::size_t column, Parsed why) const {
    if (token.empty()) failure("{}: line {} has nothing in column {}", name_, lines_.number(), column);
    constexpr std::size_t kShown = 40;
    std::string shown(token.substr(0, kShown));
    std::replace_if(
        shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
    failure("{}: line {}, column {}: '{}{}' is {}", name_, lines_.number(), column, shown,
            token.size() > kShown ? "..." : "",
            why == Parsed::out_of_range ? "too large for a 32-bit float" : "not a number");
  }

 private:
  // Passes over comments and a line of names, and finds the separator.
  std::optional<std::string_view> first_row(std::optional<std::string_view> line) {
    const auto nothing = [&] { return line && (trimmed(*line).empty() || line->starts_with('#')); };
    while (nothing()) line = lines_.next();
    if (!line) return line;
    separator_ = separator_of(*line);
    // A heading has names and no number; a row with one bad value is a bad row.
    bool names = false;
    bool numbers = false;
    split(*line, *separator_, [&](std::string_view token) {
      if (!token.empty()) (is_number(token) ? numbers : names) = true;
    });
    if (!names || numbers) return line;
    do line = lines_.next();
    while (nothing());
    return line;
  }

  bool only_blank_lines_follow() {
    const std::size_t blank = lines_.number();
    while (const auto line = lines_.next()) {
      if (!trimmed(*line).empty()) different_length(blank, 0);
    }
    return false;
  }

  [[noreturn]] void different_length(std::size_t line, std::size_t values) const {
    failure("{}: line {} has {} values, the first row has {}; all rows must have the same", name_, line, values,
            dimension_);
  }

  std::string name_;
  Lines lines_;
  std::optional<char> separator_;
  std::size_t dimension_ = 0;
};

class CsvReader final : public VectorReader {
 public:
  explicit CsvReader(const Source& source) : name_(source.path) {
    bool integers = true;
    Rows rows(source);
    const auto check = [&](std::string_view token, std::size_t column) {
      std::int64_t integer = 0;
      if (integers && parse(token, integer) == Parsed::yes) return;
      float real = 0;
      if (const auto parsed = parse_float(token, real); parsed != Parsed::yes) rows.not_a_number(token, column, parsed);
      integers = false;
    };
    while (rows.next(check)) ++shape_.count;
    if (shape_.count == 0) failure("{}: has no row of numbers", name_);
    shape_.dimension = rows.dimension();
    shape_.element = integers ? Element::i64 : Element::f32;
    rows_.emplace(source);
  }

  void read(std::size_t count, std::byte* out) override {
    for (std::size_t i = 0; i < count; ++i) {
      out = shape_.element == Element::i64 ? read_row<std::int64_t>(out) : read_row<float>(out);
    }
  }

 private:
  template <class T>
  std::byte* read_row(std::byte* out) {
    const bool there = rows_->next([&](std::string_view token, std::size_t column) {
      if (column > shape_.dimension) changed();
      T value{};
      Parsed parsed;
      if constexpr (std::is_same_v<T, float>) {
        parsed = parse_float(token, value);
      } else {
        parsed = parse(token, value);
      }
      if (parsed != Parsed::yes) rows_->not_a_number(token, column, parsed);
      std::memcpy(out, &value, sizeof value);
      out += sizeof value;
    });
    if (!there || rows_->dimension() != shape_.dimension) changed();
    return out;
  }

  [[noreturn]] void changed() const { failure("{}: changed while it was read", name_); }

  std::string name_;
  std::optional<Rows> rows_;  // the second pass
};

bool ends_with(std::string_view path, std::string_view end) {
  return path.size() >= end.size() && std::equal(end.rbegin(), end.rend(), path.rbegin(), [](char a, char b) {
           return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
         });
}

class CsvWriter final : public VectorWriter {
 public:
  explicit CsvWriter(const Destination& to)
      : file_(to.path), shape_(to.shape), separator_(ends_with(to.path, ".tsv") ? '\t' : ',') {
    if (ends_with(to.path, ".gz")) misuse("{}: text is not written compressed; leave out .gz", to.path);
  }

  void write(std::size_t count, const std::byte* vectors) override {
    visit_element(shape_.element, [&](auto type) {
      using T = typename decltype(type)::type;
      if constexpr (std::is_arithmetic_v<T>) {
        write_as<T>(count, vectors);
      } else {
        misuse("{}: text is not written from {}", file_.path(), name_of(shape_.element));
      }
    });
  }

  void finish() override {
    flush();
    file_.commit();
  }

 private:
  template <class T>
  void write_as(std::size_t count, const std::byte* from) {
    constexpr std::size_t kPiece = 1 << 18;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t d = 0; d < shape_.dimension; ++d, from += sizeof(T)) {
        T value;
        std::memcpy(&value, from, sizeof value);
        if (d > 0) text_.push_back(separator_);
        if constexpr (sizeof(T) == 1) {
          text_ += fmt::format("{}", static_cast<int>(value));
        } else {
          text_ += fmt::format("{}", value);  // floats: the shortest that reads back the same
        }
      }
      text_.push_back('\n');
      if (text_.size() > kPiece) flush();
    }
  }

  void flush() {
    file_.write(text_);
    text_.clear();
  }

  OutputFile file_;
  Shape shape_;
  char separator_;
  std::string text_;
};

constexpr std::string_view kUnlabelled = "-1";

// The cells of a line of names; a separator between quotes belongs to the name.
std::vector<std::string_view> name_cells(std::string_view line) {
  std::vector<std::string_view> best;
  for (const char separator : {'\t', ';', ','}) {
    std::vector<std::string_view> cells;
    std::size_t begin = 0;
    bool quoted = false;
    for (std::size_t i = 0; i <= line.size(); ++i) {
      if (i < line.size() && line[i] == '"') quoted = !quoted;
      if (i < line.size() && (quoted || line[i] != separator)) continue;
      cells.push_back(trimmed(line.substr(begin, i - begin)));
      begin = i + 1;
    }
    if (cells.size() > 1 || best.empty()) best = std::move(cells);
    if (best.size() > 1) break;
  }
  return best;
}

// The name in a cell: the cell itself, or what stands between quotes, where "" is a quote; none if it is neither.
std::optional<std::string> name_in(std::string_view cell) {
  if (!cell.starts_with('"')) return std::string(cell);
  if (cell.size() < 2 || !cell.ends_with('"')) return std::nullopt;
  cell = cell.substr(1, cell.size() - 2);
  std::string name;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] == '"' && !cell.substr(++i).starts_with('"')) return std::nullopt;
    name.push_back(cell[i]);
  }
  return name;
}

bool is_finite(std::string_view token) {
  float value = 0;
  return parse_float(token, value) == Parsed::yes && std::isfinite(value);
}

bool holds_numbers_only(std::string_view row) {
  bool numbers = true;
  split(row, separator_of(row), [&](std::string_view token) { numbers &= is_finite(token); });
  return numbers;
}

// Whether labels are names. Text in the first row may be the heading of numbers: the next row that has a label decides.
bool holds_names(const Source& source) {
  Lines lines(source);
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

// One name per line, or one line of names.
class NamedLabels {
 public:
  NamedLabels(const Source& source, LabelNames* names) : name_(source.path), names_(names), lines_(source) {}

  std::vector<std::int64_t> read() {
    std::size_t blank = 0;
    std::size_t widest = 0;  // the line that has several
    while (const auto line = lines_.next()) {
      const auto row = trimmed(*line);
      if (labels_.empty() && (row.empty() || row.starts_with('#'))) continue;
      if (row.empty()) {
        if (blank == 0) blank = lines_.number();
        continue;
      }
      if (blank != 0) lacks_a_name(blank);
      ++rows_;
      const auto cells = name_cells(row);
      for (const auto cell : cells) add(cell);
      if (cells.size() > 1 && widest == 0) widest = lines_.number();
      if (rows_ > 1 && widest != 0) {
        failure(
            "{}: line {} has several names; labels are one column or one row (put a name that has commas in quotes)",
            name_, widest);
      }
    }
    return std::move(labels_);
  }

 private:
  void add(std::string_view cell) {
    if (cell == kUnlabelled) return labels_.push_back(-1);
    if (is_finite(cell)) {
      failure("{}: line {} has the number {} among names; put it in quotes if it is a name", name_, lines_.number(),
              cell);
    }
    const auto name = name_in(cell);
    if (!name)
      failure("{}: line {}: the quotes of a name are not closed, or do not hold it whole", name_, lines_.number());
    if (name->empty()) lacks_a_name(lines_.number());
    labels_.push_back(label_of(*name));
    if (names_ != nullptr) names_->emplace(labels_.back(), *name);
  }

  [[noreturn]] void lacks_a_name(std::size_t line) const {
    failure("{}: line {} lacks a name; write -1 for a vector without one", name_, line);
  }

  std::string name_;
  LabelNames* names_;
  Lines lines_;
  std::size_t rows_ = 0;
  std::vector<std::int64_t> labels_;
};

std::vector<std::int64_t> labels(const Source& source, LabelNames* names) {
  if (!holds_names(source)) return {};
  return NamedLabels(source, names).read();
}

std::unique_ptr<VectorReader> open(const Source& source) { return std::make_unique<CsvReader>(source); }
std::unique_ptr<VectorWriter> create(const Destination& to) { return std::make_unique<CsvWriter>(to); }

}  // namespace

const Format kCsv = {"csv",
                     "numbers as text, a vector per line",
                     {".csv", ".tsv", ".txt"},
                     nullptr,
                     open,
                     create,
                     {Element::f32, Element::f64, Element::u8, Element::i8, Element::u16, Element::i16, Element::u32,
                      Element::i32, Element::u64, Element::i64},
                     false,
                     labels};

}  // namespace bdnn
