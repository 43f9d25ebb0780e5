#include "search/segment_check.h"

#include <fmt/format.h>

#include <cstring>

#include "base/checksum.h"

namespace bdnn {
namespace {

std::span<const std::byte> bytes_at(const FileSection& extent, const void* file) {
  return {static_cast<const std::byte*>(file) + extent.offset, extent.bytes};
}

bool agrees(const FileSection& extent, const void* file) { return checksum(bytes_at(extent, file)) == extent.checksum; }

std::string phrase(const char* what, const FileSection& extent) {
  return fmt::format("{} ({} bytes at byte {})", what, extent.bytes, extent.offset);
}

[[noreturn]] void raise_damage(const std::string& path, const std::vector<std::string>& damage) {
  throw DamagedIndex(fmt::format("{}: is damaged: {} do not agree with their checksum; nothing was changed", path,
                                 fmt::join(damage, " and ")));
}

}  // namespace

SegmentCheck::SegmentCheck(const SegmentRecord& record, std::size_t bits, const void* file) : layout_(bits) {
  const auto sums_in = [&](const std::optional<FileSection>& sums) -> const std::byte* {
    return sums && agrees(*sums, file) ? bytes_at(*sums, file).data() : nullptr;
  };
  // Takes the checksums of its blocks from `sums`, and moves that on.
  const auto check = [&](const std::optional<FileSection>& extent, const char* what, const std::byte*& sums) {
    Section section;
    if (!extent) return section;
    const auto bytes = bytes_at(*extent, file);
    section.data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    section.bytes = bytes.size();
    const std::size_t blocks = blocks_in(*extent);
    if (!agrees(*extent, file)) {
      damage_.push_back(phrase(what, *extent));
      section.damaged.assign(blocks, true);
      for (std::size_t b = 0; sums != nullptr && b < blocks; ++b) {
        std::uint64_t sum = 0;
        std::memcpy(&sum, sums + b * sizeof sum, sizeof sum);
        const auto block =
            bytes.subspan(b * kSumBlock, std::min<std::uint64_t>(kSumBlock, bytes.size() - b * kSumBlock));
        section.damaged[b] = checksum(block) != sum;
      }
    }
    if (sums != nullptr) sums += blocks * sizeof(std::uint64_t);
    return section;
  };
  const std::byte* sums = sums_in(record.block_sums);
  codes_ = check(record.codes, "the codes", sums);
  ids_ = check(record.ids, "the ids", sums);
  name_starts_ = check(record.name_starts, "the places of the names", sums);
  text_ = check(record.text, "the names", sums);
  const std::byte* live_sums = sums_in(record.live_block_sums);
  live_ = check(record.live, "the removals", live_sums);
}

bool SegmentCheck::Section::is_sound(std::uint64_t begin, std::uint64_t length) const {
  if (damaged.empty()) return true;
  if (begin > bytes || length > bytes - begin) return false;
  for (std::uint64_t b = begin / kSumBlock; b * kSumBlock < begin + length; ++b) {
    if (damaged[b]) return false;
  }
  return true;
}

bool SegmentCheck::code_is_sound(std::size_t row) const {
  const std::size_t tile = row / layout_.codes_per_tile();
  return codes_.is_sound(tile * layout_.bytes_per_tile(), layout_.bytes_per_tile());
}

bool SegmentCheck::live_is_sound(std::size_t row) const { return live_.is_sound(row / 64 * 8, 8); }

bool SegmentCheck::key_is_sound(std::size_t row) const {
  if (!ids_.is_sound(row * 8, 8)) return false;
  if (name_starts_.data == nullptr) return true;
  if (!name_starts_.is_sound(row * 8, 16)) return false;
  std::uint64_t places[2];
  std::memcpy(places, name_starts_.data + row * 8, sizeof places);
  return places[0] <= places[1] && text_.is_sound(places[0], places[1] - places[0]);
}

void check_segment(const SegmentRecord& record, std::size_t bits, const void* file, const std::string& path) {
  const SegmentCheck check(record, bits, file);
  if (!check.damage().empty()) raise_damage(path, check.damage());
}

void check_live(const SegmentRecord& record, const void* file, const std::string& path) {
  if (record.live && !agrees(*record.live, file)) raise_damage(path, {phrase("the removals", *record.live)});
}

}  // namespace bdnn
