// Sections and segments written to an index file.
#pragma once

#include <functional>

#include "search/index_format.h"

namespace bdnn {

// Appends sections from `end` on.
class SectionWriter {
 public:
  using WriteAt = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

  SectionWriter(WriteAt write_at, std::uint64_t end) : write_at_(std::move(write_at)), end_(end) {}

  // Where the next section will start, and the last ended.
  std::uint64_t end() const { return end_; }

  FileSection append(std::span<const std::byte> bytes);

  // A section in pieces: `next` returns each, and an empty one at the end.
  FileSection append_pieces(const std::function<std::span<const std::byte>()>& next);

 private:
  WriteAt write_at_;
  std::uint64_t end_;
};

// Codes with their keys, which are ids that count on from `first` where neither ids nor names are given.
struct Entries {
  Codes codes;
  std::uint64_t first = 0;
  std::vector<std::uint64_t> ids;
  std::vector<std::string> names;

  bool is_dense() const { return ids.empty() && names.empty(); }
};

// In ascending order of their keys, ids that count on without a gap as such. A key that comes twice raises Error.
Entries in_key_order(Entries entries);

// Writes entries that are in key order.
SegmentRecord write_segment(SectionWriter& writer, const Entries& entries, const IndexOptions& options);

}  // namespace bdnn
