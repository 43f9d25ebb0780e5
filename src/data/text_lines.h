// Text files: line by line, in memory of the longest line, or as a list of names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/format.h"

namespace bdnn {

class TextLines {
 public:
  explicit TextLines(const Source& source) : name_(source.path), stream_(source.open()) {}

  std::size_t number() const { return number_; }  // of the line that next() returned, from 1

  // The next line without its end, and the first without a byte order mark; nullopt after the last. Valid until the
  // next call.
  std::optional<std::string_view> next();

 private:
  std::string_view take(std::size_t end, std::size_t next);
  bool fill();
  [[noreturn]] void too_long() const;

  std::string name_;
  std::unique_ptr<ByteStream> stream_;
  std::string buffer_;
  std::size_t piece_ = 1 << 12;  // to read next
  std::size_t begin_ = 0;
  std::size_t number_ = 0;
};

// Names of vectors, one per line. A byte order mark and line ends of either kind are removed. An empty line raises
// Error with its number.
std::vector<std::string> load_names(const std::string& path);

}  // namespace bdnn
