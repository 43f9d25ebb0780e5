// Numbers as text, a vector per line: separated by commas, tabs, semicolons or blanks, perhaps under a line of names.
#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "data/csv_labels.h"
#include "data/csv_rows.h"
#include "data/element.h"
#include "data/format.h"

namespace bdnn {
namespace {

using csv::Parsed;
using csv::Rows;

// The first element type that holds all numbers seen: i64, u64, f32 (rounded), f64 (for values beyond f32's range).
class ElementChoice {
 public:
  Parsed add(std::string_view cell) {
    std::int64_t integer = 0;
    std::uint64_t natural = 0;
    if (signed_ && csv::parse(cell, integer) != Parsed::yes) signed_ = false;
    if (unsigned_ && csv::parse(cell, natural) != Parsed::yes) unsigned_ = false;
    if (signed_ || unsigned_) return Parsed::yes;
    float real = 0;
    const Parsed parsed = csv::parse(cell, real);
    if (parsed != Parsed::out_of_range) return parsed;
    wide_ = true;
    double wide = 0;
    return csv::parse(cell, wide);
  }

  Element element() const {
    return signed_ ? Element::i64 : unsigned_ ? Element::u64 : wide_ ? Element::f64 : Element::f32;
  }

 private:
  bool signed_ = true;
  bool unsigned_ = true;
  bool wide_ = false;
};

class CsvReader final : public VectorReader {
 public:
  explicit CsvReader(const Source& source) : name_(source.path) {
    Rows rows(source);
    slot_.assign(rows.width(), kUnused);
    const std::vector<std::size_t> columns = rows.width() == 0 ? std::vector<std::size_t>() : rows.vector_columns();
    for (std::size_t i = 0; i < columns.size(); ++i) slot_[columns[i]] = i;
    ElementChoice choice;
    const auto look = [&](std::string_view cell, std::size_t column) {
      if (column >= slot_.size() || slot_[column] == kUnused) return;
      if (const Parsed parsed = choice.add(cell); parsed != Parsed::yes) rows.not_a_number(cell, column, parsed);
    };
    while (rows.next(look)) ++shape_.count;
    if (shape_.count == 0) failure("{}: has no row of numbers", name_);
    shape_.dimension = columns.size();
    shape_.element = choice.element();
    rows_.emplace(source);
  }

  void read(std::size_t count, std::byte* out) override {
    visit_element(shape_.element, [&](auto type) {
      using T = typename decltype(type)::type;
      if constexpr (kIsOneOf<T, std::int64_t, std::uint64_t, float, double>) {
        for (std::size_t i = 0; i < count; ++i) read_row<T>(out + i * shape_.bytes_per_vector());
      }
    });
  }

 private:
  static constexpr std::size_t kUnused = static_cast<std::size_t>(-1);

  template <class T, class... Types>
  static constexpr bool kIsOneOf = (std::is_same_v<T, Types> || ...);

  template <class T>
  void read_row(std::byte* out) {
    const bool there = rows_->next([&](std::string_view cell, std::size_t column) {
      if (column >= slot_.size()) changed();
      if (slot_[column] == kUnused) return;
      T value{};
      if (const Parsed parsed = csv::parse(cell, value); parsed != Parsed::yes) {
        rows_->not_a_number(cell, column, parsed);
      }
      std::memcpy(out + slot_[column] * sizeof value, &value, sizeof value);
    });
    if (!there || rows_->width() != slot_.size()) changed();
  }

  [[noreturn]] void changed() const { failure("{}: changed while it was read", name_); }

  std::string name_;
  std::vector<std::size_t> slot_;  // of each column, its place in the vectors
  std::optional<Rows> rows_;       // the second pass
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
    if (ends_with(to.path, ".gz")) misuse("{}: compressed text cannot be written; leave out .gz", to.path);
    require_vectors(to);
  }

  void write(std::size_t count, const std::byte* vectors) override {
    visit_element(shape_.element, [&](auto type) {
      using T = typename decltype(type)::type;
      if constexpr (std::is_arithmetic_v<T>) {
        write_as<T>(count, vectors);
      } else {
        misuse("{}: cannot write {} as text", file_.path(), name_of(shape_.element));
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
          text_ += fmt::format("{}", value);  // floats: the shortest text that reads back the same
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

std::unique_ptr<VectorReader> open(const Source& source) { return std::make_unique<CsvReader>(source); }
std::unique_ptr<VectorWriter> create(const Destination& to) { return std::make_unique<CsvWriter>(to); }

}  // namespace

std::vector<std::string> load_column(const std::string& path, const std::string& column) {
  const Source source = open_source({path, {.id = column}});
  check_columns(source, format_of(source));
  return csv::column_of(source, column);
}

const Format kCsv = {"csv",
                     "numbers as text, a vector per line",
                     {".csv", ".tsv", ".txt"},
                     nullptr,
                     open,
                     create,
                     {Element::f32, Element::f64, Element::u8, Element::i8, Element::u16, Element::i16, Element::u32,
                      Element::i32, Element::u64, Element::i64},
                     false,
                     csv::labels};

}  // namespace bdnn
