#include "search/segment_writer.h"

#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "search/planner.h"
#include "search/statistics.h"

namespace bdnn {
namespace {

constexpr std::size_t kMostHashTableBits = 128;  // longer codes get them only on demand: they would take too much room
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

template <class T>
std::span<const std::byte> bytes_in(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

FileSection write_codes(SectionWriter& writer, const Codes& codes, std::vector<std::uint64_t>& block_sums) {
  const CodeLayout layout(codes.bits());
  const std::size_t per_piece =
      std::max<std::size_t>(kPieceBytes / layout.bytes_per_tile(), 1) * layout.codes_per_tile();
  std::vector<std::uint8_t> piece;
  std::size_t at = 0;
  return writer.append_pieces(
      [&]() -> std::span<const std::byte> {
        const std::size_t count = std::min(per_piece, codes.size() - at);
        if (count == 0) return {};
        piece.resize(layout.bytes(count));
        interleave(layout, codes.data() + at * codes.bytes_per_code(), count, piece.data());
        at += count;
        return bytes_in(piece);
      },
      &block_sums);
}

void write_keys(SectionWriter& writer, const Entries& entries, SegmentRecord& record,
                std::vector<std::uint64_t>& block_sums) {
  record.first_id = entries.first;
  if (!entries.ids.empty()) record.ids = writer.append(bytes_in(entries.ids), &block_sums);
  if (entries.names.empty()) return;
  std::vector<std::uint64_t> starts = {0};
  std::string text;
  for (const auto& name : entries.names) {
    text += name;
    starts.push_back(text.size());
  }
  record.name_starts = writer.append(bytes_in(starts), &block_sums);
  record.text = writer.append(std::as_bytes(std::span(text)), &block_sums);
}

// The buckets are counted first: that shows whether hash tables would pay.
void write_hash_tables(SectionWriter& writer, const Codes& codes, const IndexOptions& options, SegmentRecord& record) {
  Segment segment;
  segment.codes = {CodeLayout(codes.bits()), codes.size(), nullptr, codes.data()};
  Threads threads(options.threads);
  std::vector<BuiltHashTable> built;
  const auto choice = options.tables.value_or(IndexOptions::Tables::automatic);
  const bool thinkable = choice == IndexOptions::Tables::always ||
                         (choice == IndexOptions::Tables::automatic && codes.bits() <= kMostHashTableBits);
  if (thinkable) {
    segment.hash_tables = {codes.bits(), codes.size(), {}};
    const std::size_t count = substring_count(codes.bits(), codes.size());
    for (std::size_t j = 0; j < count; ++j) {
      built.push_back(count_buckets(codes, substring_of(codes.bits(), j, count)));
      segment.hash_tables.tables.push_back(view_of(built.back()));
    }
  }
  segment.statistics = measure(segment, threads);
  segment.steps = expect_steps(segment);
  record.statistics = segment.statistics;
  if (!thinkable || (choice == IndexOptions::Tables::automatic && !hash_tables_pay(segment))) return;
  for (BuiltHashTable& table : built) {
    fill_hash_table(codes, threads, table);
    HashTableRecord& written = record.hash_tables.emplace_back();
    written.substring = table.substring;
    written.occupied = writer.append(bytes_in(table.occupied));
    written.starts = writer.append(bytes_in(table.starts));
    written.rows = writer.append(bytes_in(table.rows));
    if (!table.planes.empty()) written.planes = writer.append(bytes_in(table.planes));
    table = {};  // one at a time in memory
  }
}

}  // namespace

FileSection SectionWriter::append(std::span<const std::byte> bytes, std::vector<std::uint64_t>* block_sums) {
  bool given = false;
  return append_pieces(
      [&] {
        const auto piece = given ? std::span<const std::byte>() : bytes;
        given = true;
        return piece;
      },
      block_sums);
}

FileSection SectionWriter::append_pieces(const std::function<std::span<const std::byte>()>& next,
                                         std::vector<std::uint64_t>* block_sums) {
  FileSection extent{(end_ + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment, 0, 0};
  Checksum sum;
  Checksum block;
  std::uint64_t in_block = 0;
  const auto end_block = [&] {
    if (std::exchange(in_block, 0) == 0) return;
    block_sums->push_back(block.value());
    block.reset();
  };
  for (auto piece = next(); !piece.empty(); piece = next()) {
    write_at_(extent.offset + extent.bytes, piece);
    sum.add(piece);
    extent.bytes += piece.size();
    while (block_sums != nullptr && !piece.empty()) {
      const auto part = piece.first(std::min<std::uint64_t>(piece.size(), kSumBlock - in_block));
      block.add(part);
      in_block += part.size();
      piece = piece.subspan(part.size());
      if (in_block == kSumBlock) end_block();
    }
  }
  end_block();
  extent.checksum = sum.value();
  end_ = extent.offset + extent.bytes;
  return extent;
}

void write_live(SectionWriter& writer, std::span<const std::uint64_t> live, SegmentRecord& record) {
  std::vector<std::uint64_t> block_sums;
  record.live = writer.append(std::as_bytes(live), &block_sums);
  record.live_block_sums = writer.append(bytes_in(block_sums));
}

SegmentRecord write_segment(SectionWriter& writer, const Entries& entries, const IndexOptions& options) {
  SegmentRecord record;
  record.count = entries.codes.size();
  record.live_count = record.count;
  std::vector<std::uint64_t> block_sums;
  record.codes = write_codes(writer, entries.codes, block_sums);
  write_keys(writer, entries, record, block_sums);
  record.block_sums = writer.append(bytes_in(block_sums));
  write_hash_tables(writer, entries.codes, options, record);
  return record;
}

}  // namespace bdnn
