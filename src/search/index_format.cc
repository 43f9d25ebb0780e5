#include "search/index_format.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/checksum.h"
#include "base/error.h"
#include "search/catalog.h"
#include "search/planner.h"

namespace bdnn {
namespace {

constexpr std::array<char, 8> kMagic = {'B', 'D', 'N', 'N', 'I', 'N', 'D', 'X'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kMostCatalog = std::uint64_t{1} << 26;

struct Superblock {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t reserved = 0;
  std::uint64_t sequence = 0;
  std::uint64_t catalog_offset = 0;
  std::uint64_t catalog_bytes = 0;
  std::uint64_t catalog_checksum = 0;
  std::uint64_t end = 0;
  std::uint64_t checksum = 0;  // of what stands before it
};
static_assert(sizeof(Superblock) == 64);

std::uint64_t checksum_of(const Superblock& block) {
  return checksum(std::as_bytes(std::span(&block, 1)).first(offsetof(Superblock, checksum)));
}

bool within(const FileSection& extent, std::uint64_t end) {
  return extent.offset >= kFirstSection && extent.offset % kSectionAlignment == 0 && extent.offset <= end &&
         extent.bytes <= end - extent.offset;
}

// The sections of a state as memory.
class View {
 public:
  View(const IndexState& state, const void* memory, const std::string& path)
      : state_(state), memory_(static_cast<const std::uint8_t*>(memory)), path_(path) {}

  template <class T>
  const T* section(const FileSection& extent, std::uint64_t count, const char* what) const {
    if (!within(extent, state_.end) || extent.bytes / sizeof(T) != count || extent.bytes % sizeof(T) != 0) {
      failure("{}: is damaged: {} bytes at byte {} cannot be its {}", path_, extent.bytes, extent.offset, what);
    }
    return reinterpret_cast<const T*>(memory_ + extent.offset);
  }

  Segment segment(const SegmentRecord& record) const {
    const Catalog& catalog = state_.catalog;
    Segment segment;
    const CodeLayout layout(catalog.bits);
    if (record.count > std::numeric_limits<std::uint32_t>::max() || record.live_count > record.count) {
      failure("{}: is damaged: a segment of {} codes is impossible", path_, record.count);
    }
    segment.codes = {layout, record.count, section<std::uint8_t>(record.codes, layout.bytes(record.count), "codes"),
                     nullptr};
    segment.live_count = record.live_count;
    if (record.live) segment.live = section<std::uint64_t>(*record.live, (record.count + 63) / 64, "removals");
    segment.keys = keys(record);
    segment.tables = {catalog.bits, record.count, {}};
    for (const TableRecord& table : record.tables) segment.tables.tables.push_back(this->table(table, segment.tables));
    segment.statistics = record.statistics;
    segment.steps = expect_steps(segment);
    return segment;
  }

 private:
  KeyView keys(const SegmentRecord& record) const {
    KeyView keys{record.count, record.first_id, nullptr, nullptr, {}};
    if (record.ids) keys.ids = section<std::uint64_t>(*record.ids, record.count, "ids");
    if (!state_.catalog.names) return keys;
    if (!record.name_starts || !record.text) failure("{}: is damaged: names are missing", path_);
    keys.name_starts = section<std::uint64_t>(*record.name_starts, record.count + 1, "names");
    keys.text = {section<char>(*record.text, record.text->bytes, "names"), record.text->bytes};
    return keys;
  }

  HashTable table(const TableRecord& record, const HashTables& tables) const {
    const Substring& part = record.substring;
    if (part.bits < 1 || part.bits > kMostSubstringBits || part.first > tables.code_bits ||
        part.bits > tables.code_bits - part.first || record.planes.has_value() == tables.of_whole_codes() ||
        (tables.of_whole_codes() && part.bits != tables.code_bits)) {
      failure("{}: is damaged: a table over {} bits from bit {} on is impossible", path_, part.bits, part.first);
    }
    HashTable table{part.first, part.bits, nullptr, nullptr, nullptr, nullptr};
    table.occupied = section<std::uint64_t>(record.occupied, table.occupied_words(), "table");
    table.starts = section<std::uint32_t>(record.starts, table.buckets() + 1, "table");
    table.rows = section<std::uint32_t>(record.rows, tables.count, "table");
    if (record.planes) table.planes = section<std::uint8_t>(*record.planes, tables.plane_bytes(), "table");
    return table;
  }

  const IndexState& state_;
  const std::uint8_t* memory_;
  const std::string& path_;
};

IndexInfo info_of(const IndexState& state, const std::vector<Segment>& segments) {
  IndexInfo info;
  info.bits = state.catalog.bits;
  info.segments = segments.size();
  info.names = state.catalog.names;
  info.bytes = state.end;
  info.origin = state.catalog.origin;
  std::uint64_t used = kFirstSection + state.catalog_extent.bytes;
  std::size_t largest = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    info.size += segments[i].live_count;
    info.removed += segments[i].size() - segments[i].live_count;
    for (const FileSection& extent : extents_of(state.catalog.segments[i])) used += extent.bytes;
    if (segments[i].size() < largest) continue;
    largest = segments[i].size();
    info.tables = segments[i].tables.tables.size();
    info.duplicates = segments[i].statistics.duplicates;
  }
  info.unused = state.end > used ? state.end - used : 0;
  return info;
}

// Takes over the mapping.
std::shared_ptr<const Index::Content> view_content(const IndexState& state, void* address, const std::string& path) {
  const std::size_t bytes = state.end;
  const std::shared_ptr<const void> memory(address, [bytes](const void* p) { ::munmap(const_cast<void*>(p), bytes); });
  const auto content = std::make_shared<Index::Content>();
  const View view(state, address, path);
  for (const SegmentRecord& record : state.catalog.segments) content->segments.push_back(view.segment(record));
  content->info = info_of(state, content->segments);
  content->memory = memory;
  return content;
}

}  // namespace

std::vector<FileSection> extents_of(const SegmentRecord& segment) {
  std::vector<FileSection> extents = {segment.codes};
  for (const auto& extent : {segment.live, segment.ids, segment.name_starts, segment.text}) {
    if (extent) extents.push_back(*extent);
  }
  for (const TableRecord& table : segment.tables) {
    extents.push_back(table.occupied);
    extents.push_back(table.starts);
    extents.push_back(table.rows);
    if (table.planes) extents.push_back(*table.planes);
  }
  return extents;
}

bool is_index_file(const std::string& path) {
  const InputFile file(path);
  std::array<char, 8> magic{};
  file.read_some_at(0, std::as_writable_bytes(std::span(magic)));
  return magic == kMagic;
}

IndexState read_state(const InputFile& file) {
  Superblock best;
  bool found = false;
  bool ours = false;
  for (const std::uint64_t at : {std::uint64_t{0}, kSuperblockSpace}) {
    Superblock block;
    if (file.read_some_at(at, std::as_writable_bytes(std::span(&block, 1))) < sizeof block) continue;
    if (block.magic != kMagic) continue;
    ours = true;
    if (block.version > kVersion) {
      failure("{}: is of index version {}, this program knows up to {}; use a newer bdnn", file.path(), block.version,
              kVersion);
    }
    if (checksum_of(block) != block.checksum || (found && block.sequence <= best.sequence)) continue;
    best = block;
    found = true;
  }
  if (!ours) failure("{}: does not start with the signature of an index; build one from codes first", file.path());
  if (!found) failure("{}: is damaged: the checksum of its header does not agree", file.path());
  IndexState state{best.sequence, {best.catalog_offset, best.catalog_bytes, best.catalog_checksum}, best.end, {}};
  // Asked anew: a writer may have added to the file since it was opened.
  struct stat now {};
  const auto size = ::fstat(file.descriptor(), &now) == 0 ? static_cast<std::uint64_t>(now.st_size) : file.size();
  if (best.end > size) {
    failure("{}: is truncated: it needs {} bytes, the file has {}", file.path(), best.end, size);
  }
  if (!within(state.catalog_extent, best.end) || best.catalog_bytes > kMostCatalog) {
    failure("{}: is damaged: its catalog cannot stand at byte {}", file.path(), best.catalog_offset);
  }
  std::string text(best.catalog_bytes, '\0');
  file.read_at(best.catalog_offset, std::as_writable_bytes(std::span(text)));
  if (checksum(std::as_bytes(std::span(text))) != best.catalog_checksum) {
    failure("{}: is damaged: the checksum of its catalog does not agree", file.path());
  }
  state.catalog = parse_catalog(text, file.path());
  return state;
}

SuperblockWrite superblock_for(const IndexState& state) {
  Superblock block;
  block.sequence = state.sequence;
  block.catalog_offset = state.catalog_extent.offset;
  block.catalog_bytes = state.catalog_extent.bytes;
  block.catalog_checksum = state.catalog_extent.checksum;
  block.end = state.end;
  block.checksum = checksum_of(block);
  const auto bytes = std::as_bytes(std::span(&block, 1));
  // In turns, so that the one in use is whole while the other is written.
  return {state.sequence % 2 * kSuperblockSpace, {bytes.begin(), bytes.end()}};
}

std::shared_ptr<const Index::Content> map_content(const InputFile& file, const IndexState& state) {
  void* address = ::mmap(nullptr, state.end, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (address == MAP_FAILED) failure("{}: cannot map: {}", file.path(), std::strerror(errno));
  return view_content(state, address, file.path());
}

std::shared_ptr<const Index::Content> load_content(const InputFile& file, const IndexState& state) {
  void* address = ::mmap(nullptr, state.end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) failure("{}: no memory for its {} bytes", file.path(), state.end);
  ::madvise(address, state.end, MADV_HUGEPAGE);  // where it is not to be had, the search is a little slower
  const auto content = view_content(state, address, file.path());
  file.read_at(0, {static_cast<std::byte*>(address), state.end});
  return content;
}

}  // namespace bdnn
