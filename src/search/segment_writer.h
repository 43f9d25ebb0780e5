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

  // Adds the checksums of its blocks to `block_sums`, if that is given.
  FileSection append(std::span<const std::byte> bytes, std::vector<std::uint64_t>* block_sums = nullptr);

  // A section in pieces: `next` returns each, and an empty one at the end.
  FileSection append_pieces(const std::function<std::span<const std::byte>()>& next,
                            std::vector<std::uint64_t>* block_sums = nullptr);

 private:
  WriteAt write_at_;
  std::uint64_t end_;
};

// Writes which rows of a segment are left.
void write_live(SectionWriter& writer, std::span<const std::uint64_t> live, SegmentRecord& record);

// Writes entries that are in key order.
SegmentRecord write_segment(SectionWriter& writer, const Entries& entries, const IndexOptions& options);

}  // namespace bdnn
