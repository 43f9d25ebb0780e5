// Damage of index files: found, and left behind.
#include "base/checksum.h"
#include "base/error.h"
#include "base/locked_file.h"
#include "bdnn/index.h"
#include "search/index_file.h"
#include "search/segment_check.h"

namespace bdnn {
namespace {

// Leaves of a segment the rows that are sound, in a bitmap that takes the place of its own; reports the others.
void keep_sound_rows(const SegmentCheck& check, Segment& segment, std::vector<std::uint64_t>& live,
                     IndexSalvage& report) {
  live.assign((segment.size() + 63) / 64, 0);
  std::size_t kept = 0;
  for (std::size_t row = 0; row < segment.size(); ++row) {
    const bool live_is_sound = check.live_is_sound(row);
    if (live_is_sound && !segment.is_live(row)) continue;  // removed: not lost
    const bool key_is_sound = check.key_is_sound(row);
    if (live_is_sound && key_is_sound && check.code_is_sound(row)) {
      live[row / 64] |= std::uint64_t{1} << row % 64;
      ++kept;
      continue;
    }
    ++report.lost;
    if (!key_is_sound) continue;
    if (segment.keys.names()) {
      report.lost_names.emplace_back(segment.keys.name(row));
    } else {
      report.lost_ids.push_back(segment.keys.id(row));
    }
  }
  segment.live = live.data();
  segment.live_count = kept;
  report.kept += kept;
}

}  // namespace

void verify_index(const std::string& path) {
  const InputFile file(path);
  const IndexState state = read_state(file);
  if (!state.damage.empty()) throw DamagedIndex(fmt::format("{}: {}", path, state.damage));
  map_content(file, state);  // says what is wrong with the structure
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (const SegmentRecord& segment : state.catalog.segments) {
    for (const FileSection& extent : extents_of(segment)) {
      Checksum sum;
      for (std::uint64_t at = 0; at < extent.bytes; at += piece.size()) {
        const auto bytes = std::span(piece).first(std::min<std::uint64_t>(piece.size(), extent.bytes - at));
        file.read_at(extent.offset + at, bytes);
        sum.add(bytes);
      }
      if (sum.value() != extent.checksum) {
        throw DamagedIndex(fmt::format("{}: is damaged: the checksum of {} bytes at byte {} does not agree", path,
                                       extent.bytes, extent.offset));
      }
    }
  }
}

IndexSalvage salvage_index(const std::string& path, const IndexOptions& options) {
  const LockedFile lock(path, options.waiting);
  const InputFile file(path);
  IndexSalvage report;
  const IndexState state = read_sound_state(file, report.damage);
  const auto content = load_damaged_content(file, state);
  std::vector<Segment> segments = content->segments;
  std::vector<std::vector<std::uint64_t>> live(segments.size());
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const SegmentCheck check(state.catalog.segments[s], state.catalog.bits, content->memory.get());
    report.damage.insert(report.damage.end(), check.damage().begin(), check.damage().end());
    keep_sound_rows(check, segments[s], live[s], report);
  }
  IndexOptions writing = options;
  if (!writing.tables) writing.tables = state.catalog.tables;
  write_index_file(path, entries_in(segments, state.catalog), state.catalog, writing);
  return report;
}

}  // namespace bdnn
