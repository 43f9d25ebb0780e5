#include "search/segment_writer.h"

#include <numeric>

#include "base/checksum.h"
#include "base/error.h"
#include "search/planner.h"
#include "search/statistics.h"

namespace bdnn {
namespace {

constexpr std::size_t kMostTableBits = 128;  // longer codes get tables only on demand: they would take too much room
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

template <class T>
std::span<const std::byte> bytes_in(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

FileSection write_codes(SectionWriter& writer, const Codes& codes) {
  const CodeLayout layout(codes.bits());
  const std::size_t per_piece =
      std::max<std::size_t>(kPieceBytes / layout.bytes_per_tile(), 1) * layout.codes_per_tile();
  std::vector<std::uint8_t> piece;
  std::size_t at = 0;
  return writer.append_pieces([&]() -> std::span<const std::byte> {
    const std::size_t count = std::min(per_piece, codes.size() - at);
    if (count == 0) return {};
    piece.resize(layout.bytes(count));
    interleave(layout, codes.data() + at * codes.bytes_per_code(), count, piece.data());
    at += count;
    return bytes_in(piece);
  });
}

void write_keys(SectionWriter& writer, const Entries& entries, SegmentRecord& record) {
  record.first_id = entries.first;
  if (!entries.ids.empty()) record.ids = writer.append(bytes_in(entries.ids));
  if (entries.names.empty()) return;
  std::vector<std::uint64_t> starts = {0};
  std::string text;
  for (const auto& name : entries.names) {
    text += name;
    starts.push_back(text.size());
  }
  record.name_starts = writer.append(bytes_in(starts));
  record.text = writer.append(std::as_bytes(std::span(text)));
}

// The tables' buckets are counted first: that shows whether the tables would pay.
void write_tables(SectionWriter& writer, const Codes& codes, const IndexOptions& options, SegmentRecord& record) {
  Segment segment;
  segment.codes = {CodeLayout(codes.bits()), codes.size(), nullptr, codes.data()};
  Threads threads(options.threads);
  std::vector<BuiltHashTable> built;
  const bool thinkable = options.tables == IndexOptions::Tables::always ||
                         (options.tables == IndexOptions::Tables::automatic && codes.bits() <= kMostTableBits);
  if (thinkable) {
    segment.tables = {codes.bits(), codes.size(), {}};
    const std::size_t count = substring_count(codes.bits(), codes.size());
    for (std::size_t j = 0; j < count; ++j) {
      built.push_back(count_buckets(codes, substring_of(codes.bits(), j, count)));
      segment.tables.tables.push_back(view_of(built.back()));
    }
  }
  segment.statistics = measure(segment, threads);
  segment.steps = expect_steps(segment);
  record.statistics = segment.statistics;
  if (!thinkable || (options.tables == IndexOptions::Tables::automatic && !tables_pay(segment))) return;
  for (BuiltHashTable& table : built) {
    fill_table(codes, threads, table);
    TableRecord& written = record.tables.emplace_back();
    written.substring = table.substring;
    written.occupied = writer.append(bytes_in(table.occupied));
    written.starts = writer.append(bytes_in(table.starts));
    written.rows = writer.append(bytes_in(table.rows));
    if (!table.planes.empty()) written.planes = writer.append(bytes_in(table.planes));
    table = {};  // one at a time in memory
  }
}

// The order of `count` keys, ascending; empty if they are in order already.
template <class Key>
std::vector<std::size_t> order_of(const std::vector<Key>& keys) {
  if (std::is_sorted(keys.begin(), keys.end())) return {};
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return order;
}

template <class Key>
void put_in_order(std::vector<Key>& keys, Codes& codes, const char* what) {
  const auto order = order_of(keys);
  if (!order.empty()) {
    const std::size_t bytes = codes.bytes_per_code();
    std::vector<std::uint8_t> sorted_codes(codes.size() * bytes);
    std::vector<Key> sorted_keys(keys.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::memcpy(&sorted_codes[i * bytes], codes[order[i]].data(), bytes);
      sorted_keys[i] = std::move(keys[order[i]]);
    }
    codes = Codes(codes.bits(), codes.size(), std::move(sorted_codes), codes.origin());
    keys = std::move(sorted_keys);
  }
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end()) misuse("the {} {} is given twice; every code needs one of its own", what, *twice);
}

}  // namespace

FileSection SectionWriter::append(std::span<const std::byte> bytes) {
  bool given = false;
  return append_pieces([&] {
    const auto piece = given ? std::span<const std::byte>() : bytes;
    given = true;
    return piece;
  });
}

FileSection SectionWriter::append_pieces(const std::function<std::span<const std::byte>()>& next) {
  FileSection extent{(end_ + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment, 0, 0};
  Checksum sum;
  for (auto piece = next(); !piece.empty(); piece = next()) {
    write_at_(extent.offset + extent.bytes, piece);
    sum.add(piece);
    extent.bytes += piece.size();
  }
  extent.checksum = sum.value();
  end_ = extent.offset + extent.bytes;
  return extent;
}

Entries in_key_order(Entries entries) {
  if (!entries.names.empty()) put_in_order(entries.names, entries.codes, "name");
  if (!entries.ids.empty()) {
    put_in_order(entries.ids, entries.codes, "id");
    const std::uint64_t first = entries.ids.front();
    if (entries.ids.back() - first == entries.ids.size() - 1) {
      entries.first = first;
      entries.ids.clear();
    }
  }
  return entries;
}

SegmentRecord write_segment(SectionWriter& writer, const Entries& entries, const IndexOptions& options) {
  SegmentRecord record;
  record.count = entries.codes.size();
  record.live_count = record.count;
  record.codes = write_codes(writer, entries.codes);
  write_keys(writer, entries, record);
  write_tables(writer, entries.codes, options, record);
  return record;
}

}  // namespace bdnn
