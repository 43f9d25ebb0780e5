#include "search/index_format.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/checksum.h"
#include "base/error.h"
#include "base/mapped_file.h"
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

constexpr std::array<std::uint64_t, 2> kSuperblockPlaces = {0, kSuperblockSpace};

struct SuperblockRead {
  Superblock block;
  bool sound = false;
  bool mended = false;  // sound but for one bit, which is put right
  bool blank = false;

  bool usable() const { return sound || mended; }
};

bool is_sound(const Superblock& block) { return block.magic == kMagic && checksum_of(block) == block.checksum; }

// Its checksum tells which bit was flipped, if it was only one.
bool mend(Superblock& block) {
  const auto bytes = std::as_writable_bytes(std::span(&block, 1));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    if (is_sound(block)) return true;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
  return false;
}

// Both superblocks of a file, at least one of which can be used.
class Superblocks {
 public:
  std::array<SuperblockRead, 2> reads;

  const SuperblockRead& latest() const { return reads[latest_slot()]; }
  const SuperblockRead& other() const { return reads[1 - latest_slot()]; }

  // Whether there was another that cannot be read any more. Before the first change there is none.
  bool other_is_lost() const { return !other().usable() && !(other().blank && latest().block.sequence == 0); }

 private:
  std::size_t latest_slot() const {
    if (!reads[0].usable() || !reads[1].usable()) return reads[0].usable() ? 0 : 1;
    return reads[1].block.sequence > reads[0].block.sequence ? 1 : 0;
  }
};

SuperblockRead read_superblock(const InputFile& file, std::uint64_t at) {
  constexpr int kAttempts = 3;  // a writer may be in the middle of it
  SuperblockRead read;
  for (int attempt = 0; attempt < kAttempts && !read.sound; ++attempt) {
    read.block = {};
    if (file.read_some_at(at, std::as_writable_bytes(std::span(&read.block, 1))) < sizeof read.block) {
      read.block.magic = {};
      return read;
    }
    read.sound = is_sound(read.block);
  }
  const auto bytes = std::as_bytes(std::span(&read.block, 1));
  read.blank = std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
  read.mended = !read.sound && !read.blank && mend(read.block);
  return read;
}

Superblocks read_superblocks(const InputFile& file) {
  Superblocks blocks;
  bool ours = false;
  for (std::size_t i = 0; i < blocks.reads.size(); ++i) {
    SuperblockRead& read = blocks.reads[i];
    read = read_superblock(file, kSuperblockPlaces[i]);
    ours = ours || read.usable() || read.block.magic == kMagic;
  }
  if (!ours) failure("{}: does not start with the signature of an index; build one from codes first", file.path());
  const bool found = blocks.reads[0].usable() || blocks.reads[1].usable();
  const std::uint32_t version = found ? blocks.latest().block.version : 0;
  if (version > kVersion) {
    failure("{}: is of index version {}, this program knows up to {}; use a newer bdnn", file.path(), version,
            kVersion);
  }
  if (!found) {
    const auto said = std::max(blocks.reads[0].block.version, blocks.reads[1].block.version);
    failure("{}: is damaged: the checksum of its header does not agree; build it again{}", file.path(),
            said > kVersion ? fmt::format(", or use a newer bdnn if it is of index version {}", said) : "");
  }
  return blocks;
}

// Asked anew: a writer may have added to the file since it was opened.
std::uint64_t size_now(const InputFile& file) {
  struct stat now {};
  return ::fstat(file.descriptor(), &now) == 0 ? static_cast<std::uint64_t>(now.st_size) : file.size();
}

bool within(const FileSection& extent, std::uint64_t end) {
  return extent.offset >= kFirstSection && extent.offset % kSectionAlignment == 0 && extent.offset <= end &&
         extent.bytes <= end - extent.offset;
}

// The state that a superblock leads to.
IndexState state_at(const InputFile& file, const Superblock& block) {
  IndexState state{
      block.sequence, {block.catalog_offset, block.catalog_bytes, block.catalog_checksum}, block.end, {}, {}, {}};
  if (!within(state.catalog_extent, block.end) || block.catalog_bytes > kMostCatalog) {
    throw DamagedIndex(
        fmt::format("{}: is damaged: its catalog cannot stand at byte {}", file.path(), block.catalog_offset));
  }
  std::string text(block.catalog_bytes, '\0');
  const std::size_t read = file.read_some_at(block.catalog_offset, std::as_writable_bytes(std::span(text)));
  if (read < text.size()) {
    throw DamagedIndex(fmt::format("{}: is truncated: it needs {} bytes, the file has {}", file.path(), block.end,
                                   block.catalog_offset + read));
  }
  if (checksum(std::as_bytes(std::span(text))) != block.catalog_checksum) {
    throw DamagedIndex(fmt::format("{}: is damaged: the checksum of its catalog does not agree", file.path()));
  }
  state.catalog = parse_catalog(text, file.path());
  return state;
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
    check_block_sums(record);
    segment.hash_tables = {catalog.bits, record.count, {}};
    for (const HashTableRecord& table : record.hash_tables)
      segment.hash_tables.tables.push_back(hash_table(table, segment.hash_tables));
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

  void check_block_sums(const SegmentRecord& record) const {
    std::uint64_t count = blocks_in(record.codes);
    for (const auto& extent : {record.ids, record.name_starts, record.text}) count += extent ? blocks_in(*extent) : 0;
    if (record.block_sums) section<std::uint64_t>(*record.block_sums, count, "checksums");
    const std::uint64_t of_live = record.live ? blocks_in(*record.live) : 0;
    if (record.live_block_sums) section<std::uint64_t>(*record.live_block_sums, of_live, "checksums");
  }

  HashTable hash_table(const HashTableRecord& record, const HashTables& tables) const {
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

// What a segment would take without its removed codes.
std::uint64_t bytes_after_compaction(const SegmentRecord& segment, const CodeLayout& layout) {
  std::uint64_t all = 0;
  for (const FileSection& extent : extents_of(segment)) all += extent.bytes;
  std::uint64_t by_row = 0;
  for (const auto& extent : {segment.ids, segment.name_starts, segment.text}) by_row += extent ? extent->bytes : 0;
  for (const HashTableRecord& table : segment.hash_tables)
    by_row += table.rows.bytes + (table.planes ? table.planes->bytes : 0);
  const auto removed = static_cast<double>(segment.count - segment.live_count);
  const double freed =
      static_cast<double>(by_row) * removed / static_cast<double>(std::max<std::uint64_t>(segment.count, 1));
  return all - (layout.bytes(segment.count) - layout.bytes(segment.live_count)) - static_cast<std::uint64_t>(freed) -
         (segment.live ? segment.live->bytes : 0) - (segment.live_block_sums ? segment.live_block_sums->bytes : 0);
}

IndexInfo info_of(const IndexState& state, const std::vector<Segment>& segments) {
  IndexInfo info;
  info.bits = state.catalog.bits;
  info.segments = segments.size();
  info.names = state.catalog.names;
  info.bytes = state.end;
  info.origin = state.catalog.origin;
  info.tables_choice = state.catalog.tables;
  for (const std::string& text : {state.damage, state.warning}) {
    if (!text.empty()) info.warnings.push_back(text);
  }
  std::uint64_t used = kFirstSection + state.catalog_extent.bytes;
  std::size_t largest = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    info.size += segments[i].live_count;
    info.removed += segments[i].size() - segments[i].live_count;
    used += bytes_after_compaction(state.catalog.segments[i], CodeLayout(info.bits));
    if (segments[i].size() < largest) continue;
    largest = segments[i].size();
    info.tables = segments[i].hash_tables.tables.size();
    info.duplicates = segments[i].statistics.duplicates;
  }
  info.unused = state.end > used ? state.end - used : 0;
  return info;
}

std::shared_ptr<const Index::Content> view_content(const IndexState& state, std::shared_ptr<const void> memory,
                                                   const std::string& path) {
  const auto content = std::make_shared<Index::Content>();
  const View view(state, memory.get(), path);
  for (const SegmentRecord& record : state.catalog.segments) content->segments.push_back(view.segment(record));
  content->info = info_of(state, content->segments);
  content->memory = std::move(memory);
  return content;
}

std::shared_ptr<const Index::Content> load(const InputFile& file, const IndexState& state, bool whole) {
  const std::size_t bytes = state.end;
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) failure("{}: no memory for its {} bytes", file.path(), bytes);
  std::shared_ptr<const void> memory(address, [bytes](const void* p) { ::munmap(const_cast<void*>(p), bytes); });
  ::madvise(address, bytes, MADV_HUGEPAGE);  // where it is not to be had, the search is a little slower
  const std::span out(static_cast<std::byte*>(address), bytes);
  if (whole) {
    file.read_at(0, out);
  } else {
    file.read_some_at(0, out);
  }
  return view_content(state, std::move(memory), file.path());
}

}  // namespace

std::vector<FileSection> extents_of(const SegmentRecord& segment) {
  std::vector<FileSection> extents = {segment.codes};
  for (const auto& extent :
       {segment.live, segment.ids, segment.name_starts, segment.text, segment.block_sums, segment.live_block_sums}) {
    if (extent) extents.push_back(*extent);
  }
  for (const HashTableRecord& table : segment.hash_tables) {
    extents.push_back(table.occupied);
    extents.push_back(table.starts);
    extents.push_back(table.rows);
    if (table.planes) extents.push_back(*table.planes);
  }
  return extents;
}

bool is_index_file(const std::string& path) {
  const InputFile file(path);
  for (const std::uint64_t at : kSuperblockPlaces) {
    std::array<char, 8> magic{};
    file.read_some_at(at, std::as_writable_bytes(std::span(magic)));
    if (magic == kMagic) return true;
  }
  return false;
}

IndexState read_state(const InputFile& file) {
  const Superblocks blocks = read_superblocks(file);
  IndexState state = state_at(file, blocks.latest().block);
  const std::uint64_t size = size_now(file);
  if (state.end > size) {
    throw DamagedIndex(
        fmt::format("{}: is truncated: it needs {} bytes, the file has {}", file.path(), state.end, size));
  }
  // A later change would have made the file longer than the latest sound state.
  if (blocks.latest().mended) {
    state.damage = "is damaged: a bit of its header was flipped; what it said can be told";
  } else if (blocks.other_is_lost() && size > state.end) {
    state.damage = "is damaged: one of its two headers cannot be read; if it was the newer, the last change is missing";
  } else if (blocks.other_is_lost() || blocks.other().mended) {
    state.warning = "the header that is not in use is damaged; the next change replaces it";
  }
  return state;
}

IndexState read_sound_state(const InputFile& file, std::vector<std::string>& damage) {
  const Superblocks blocks = read_superblocks(file);
  if (blocks.latest().mended) damage.emplace_back("a bit of its header was flipped; nothing is lost by that");
  if (blocks.other_is_lost())
    damage.emplace_back("one of its two headers; if it was the newer, the last change is lost");
  try {
    return state_at(file, blocks.latest().block);
  } catch (const DamagedIndex& error) {
    if (!blocks.other().usable()) throw;
    damage.push_back(fmt::format("the last change, which is lost ({})", error.what()));
    return state_at(file, blocks.other().block);
  }
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
  return view_content(state, map_file(file, state.end), file.path());
}

std::shared_ptr<const Index::Content> load_content(const InputFile& file, const IndexState& state) {
  return load(file, state, true);
}

std::shared_ptr<const Index::Content> load_damaged_content(const InputFile& file, const IndexState& state) {
  return load(file, state, false);
}

}  // namespace bdnn
