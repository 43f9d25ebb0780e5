// Sections and segments written to an index file.
#pragma once

#include <functional>

#include "search/entries.h"
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

  // Appends the checksums of all blocks of the sections written since the last call.
  FileSection append_block_sums();

 private:
  WriteAt write_at_;
  std::uint64_t end_;
  std::vector<std::uint64_t> block_sums_;
};

// Writes which rows of a segment are left.
void write_live(SectionWriter& writer, std::span<const std::uint64_t> live, SegmentRecord& record);

// Writes entries that are in key order.
SegmentRecord write_segment(SectionWriter& writer, const Entries& entries, const IndexOptions& options);

}  // namespace bdnn
