#include "bdnn/index.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/checksum.h"
#include "base/error.h"
#include "base/locked_file.h"
#include "codes/origin.h"
#include "search/answer.h"
#include "search/catalog.h"
#include "search/segment_writer.h"

namespace bdnn {
namespace {

constexpr std::uint64_t kToleratedWaste = std::uint64_t{64} << 20;  // beside as much again as is in use

std::string quoted(std::uint64_t id) { return fmt::format("id {}", id); }
std::string quoted(const std::string& name) { return fmt::format("name '{}'", name); }

// The codes with keys as they were given; those without count on from `next_id`.
Entries entries_of(const Codes& codes, const IndexKeys& keys, std::uint64_t next_id) {
  if (codes.bits() == 0) misuse("codes of 0 bits were given; they have 1 to {}", kMaxBits);
  if (!keys.ids.empty() && !keys.names.empty()) misuse("both ids and names were given; give one of them");
  const std::size_t given = keys.ids.size() + keys.names.size();
  if (given > 0 && given != codes.size()) {
    misuse("{} keys were given for {} codes; give one for each", given, codes.size());
  }
  if (codes.size() > std::numeric_limits<std::uint32_t>::max()) {
    misuse("{} codes are too many for one addition; add at most {} at a time", codes.size(),
           std::numeric_limits<std::uint32_t>::max());
  }
  if (given == 0 && codes.size() > std::numeric_limits<std::uint64_t>::max() - next_id) {
    misuse("there are no more ids to count on from {}; give ids", next_id);
  }
  return in_key_order({codes, next_id, keys.ids, keys.names});
}

// One more than the largest id, or as before.
std::uint64_t next_id_after(const Entries& entries, std::uint64_t before) {
  if (!entries.names.empty() || entries.codes.size() == 0) return before;
  const std::uint64_t last = entries.ids.empty() ? entries.first + (entries.codes.size() - 1) : entries.ids.back();
  return last == std::numeric_limits<std::uint64_t>::max() ? last : std::max(before, last + 1);
}

// What is left of segments, in key order.
Entries entries_in(std::span<const Segment> segments, const Catalog& catalog) {
  const CodeLayout layout(catalog.bits);
  std::size_t count = 0;
  for (const Segment& segment : segments) count += segment.live_count;
  Entries entries;
  std::vector<std::uint8_t> bytes;
  bytes.reserve(count * layout.bytes_per_code());
  for (const Segment& segment : segments) {
    for (std::size_t row = 0; row < segment.size(); ++row) {
      if (!segment.is_live(row)) continue;
      bytes.resize(bytes.size() + layout.bytes_per_code());
      deinterleave(layout, segment.codes.tiles, row, bytes.data() + bytes.size() - layout.bytes_per_code());
      if (catalog.names) {
        entries.names.emplace_back(segment.keys.name(row));
      } else {
        entries.ids.push_back(segment.keys.id(row));
      }
    }
  }
  const std::size_t read = bytes.size() / layout.bytes_per_code();
  entries.codes = Codes(catalog.bits, read, std::move(bytes), catalog.origin);
  return in_key_order(std::move(entries));
}

// Both in one, in key order.
Entries joined(const Entries& a, const Entries& b, bool names) {
  std::vector<std::uint8_t> bytes(a.codes.data(), a.codes.data() + a.codes.size() * a.codes.bytes_per_code());
  bytes.insert(bytes.end(), b.codes.data(), b.codes.data() + b.codes.size() * b.codes.bytes_per_code());
  Entries both;
  both.codes = Codes(a.codes.bits(), a.codes.size() + b.codes.size(), std::move(bytes), a.codes.origin());
  for (const Entries* part : {&a, &b}) {
    both.names.insert(both.names.end(), part->names.begin(), part->names.end());
    both.ids.insert(both.ids.end(), part->ids.begin(), part->ids.end());
    if (names || !part->is_dense()) continue;
    for (std::size_t i = 0; i < part->codes.size(); ++i) both.ids.push_back(part->first + i);
  }
  return in_key_order(std::move(both));
}

// Writes a whole index from byte 0 on.
IndexState write_whole(const SectionWriter::WriteAt& write_at, const Entries& entries, std::uint64_t next_id,
                       bool names, const IndexOptions& options) {
  SectionWriter writer(write_at, kFirstSection);
  IndexState state;
  state.catalog = {entries.codes.bits(), names, next_id, entries.codes.origin(), {}};
  if (entries.codes.size() > 0) state.catalog.segments.push_back(write_segment(writer, entries, options));
  const std::string text = to_text(state.catalog);
  state.catalog_extent = writer.append(std::as_bytes(std::span(text)));
  state.end = writer.end();
  const SuperblockWrite block = superblock_for(state);
  write_at(block.offset, block.bytes);
  return state;
}

void write_file(const std::string& path, const Entries& entries, std::uint64_t next_id, bool names,
                const IndexOptions& options) {
  OutputFile file(path);
  if (!file.seekable()) misuse("{}: an index cannot be written to a pipe; name a file", path);
  write_whole([&](std::uint64_t offset, std::span<const std::byte> bytes) { file.write_at(offset, bytes); }, entries,
              next_id, names, options);
  file.commit();
}

// A change of an index file, which happens with commit() or not at all.
class Change {
 public:
  explicit Change(const std::string& path)
      : lock_(path),
        file_(path),
        state_(read_state(file_)),
        content_(map_content(file_, state_)),
        old_end_(state_.end),
        writer_([this](std::uint64_t offset, std::span<const std::byte> bytes) { lock_.write_at(offset, bytes); },
                state_.end) {}

  ~Change() {
    if (!committed_) lock_.cut(old_end_);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  const std::vector<Segment>& segments() const { return content_->segments; }
  Catalog& catalog() { return state_.catalog; }
  SectionWriter& writer() { return writer_; }

  // Whether a key is there, and in which row of which segment.
  template <class Key>
  std::optional<std::pair<std::size_t, std::size_t>> find(const Key& key) const {
    for (std::size_t s = 0; s < segments().size(); ++s) {
      const auto row = segments()[s].keys.find(key);
      if (row && segments()[s].is_live(*row)) return std::pair(s, *row);
    }
    return std::nullopt;
  }

  void commit() {
    const std::string text = to_text(state_.catalog);
    state_.catalog_extent = writer_.append(std::as_bytes(std::span(text)));
    state_.end = writer_.end();
    ++state_.sequence;
    lock_.sync();  // what the superblock leads to is there before it does
    const SuperblockWrite block = superblock_for(state_);
    lock_.write_at(block.offset, block.bytes);
    committed_ = true;  // from here on the change may have happened
    lock_.sync();
  }

  // After commit(): rewrites the file where most of it is not in use any more.
  void tidy(const IndexOptions& options) {
    const auto content = map_content(file_, state_);
    const std::uint64_t used = content->info.bytes - content->info.unused;
    if (content->info.unused > used + kToleratedWaste) rewrite(*content, options);
  }

  // In the lock's keeping, so that no other writer comes between.
  void rewrite(const Index::Content& content, const IndexOptions& options) {
    const Catalog& catalog = state_.catalog;
    write_file(lock_.path(), entries_in(content.segments, catalog), catalog.next_id, catalog.names, options);
    committed_ = true;  // of the old file, nothing is cut
  }
  void rewrite(const IndexOptions& options) { rewrite(*content_, options); }

 private:
  LockedFile lock_;
  InputFile file_;
  IndexState state_;
  std::shared_ptr<const Index::Content> content_;
  std::uint64_t old_end_;
  SectionWriter writer_;
  bool committed_ = false;
};

}  // namespace

Index Index::open(const std::string& path) {
  const InputFile file(path);
  return Index(map_content(file, read_state(file)));
}

Index Index::load(const std::string& path) {
  const InputFile file(path);
  return Index(load_content(file, read_state(file)));
}

Index Index::build(const Codes& codes, const IndexKeys& keys, const IndexOptions& options) {
  const Entries entries = entries_of(codes, keys, 0);
  const int fd = ::memfd_create("bdnn-index", MFD_CLOEXEC);
  if (fd < 0) failure("an index in memory: cannot allocate: {}", std::strerror(errno));
  const InputFile owner(fmt::format("/proc/self/fd/{}", fd));
  ::close(fd);
  LockedFile memory(fmt::format("/proc/self/fd/{}", owner.descriptor()));
  const IndexState state =
      write_whole([&](std::uint64_t offset, std::span<const std::byte> bytes) { memory.write_at(offset, bytes); },
                  entries, next_id_after(entries, 0), !keys.names.empty(), options);
  return Index(load_content(owner, state));
}

std::size_t Index::bits() const { return content().info.bits; }
std::size_t Index::size() const { return content().info.size; }
const IndexInfo& Index::info() const { return content().info; }

std::string_view Index::name(std::uint64_t id) const {
  const std::uint64_t segment = id >> 32;
  const std::uint64_t row = id & 0xffffffffU;
  const std::vector<Segment>& segments = content().segments;
  if (!info().names || segment >= segments.size() || row >= segments[segment].size()) {
    misuse("{} stands for no name in this index", id);
  }
  return segments[segment].keys.name(row);
}

void build_index(const std::string& path, const Codes& codes, const IndexKeys& keys, const IndexOptions& options) {
  const Entries entries = entries_of(codes, keys, 0);
  // Not in the middle of somebody else's change of the file that is replaced.
  std::optional<LockedFile> replaced;
  if (std::filesystem::is_regular_file(path)) replaced.emplace(path);
  write_file(path, entries, next_id_after(entries, 0), !keys.names.empty(), options);
}

void add_to_index(const std::string& path, const Codes& codes, const IndexKeys& keys, const IndexOptions& options) {
  Change change(path);
  Catalog& catalog = change.catalog();
  if (codes.bits() != catalog.bits) {
    misuse("{}: holds codes of {} bits, those to be added have {}; encode them with the same model", path, catalog.bits,
           codes.bits());
  }
  if (!may_be_mixed(codes.origin(), catalog.origin)) {
    misuse("{}: holds codes of model {} ({}), those to be added are of {} ({}); encode them alike", path,
           catalog.origin.model, kind_of_codes(catalog.origin), codes.origin().model, kind_of_codes(codes.origin()));
  }
  if (codes.size() == 0) return;
  if (catalog.names != !keys.names.empty()) {
    misuse("{}: the keys of its codes are {}; give {} for those to be added", path, catalog.names ? "names" : "ids",
           catalog.names ? "names" : "ids, or nothing to count on");
  }
  Entries entries = entries_of(codes, keys, catalog.next_id);
  const auto refuse_known = [&](const auto& key) {
    if (change.find(key)) misuse("{}: {} is there already; remove it first, or leave it out", path, quoted(key));
  };
  for (const auto& name : entries.names) refuse_known(name);
  for (const std::uint64_t id : entries.ids) refuse_known(id);
  if (entries.is_dense()) {
    for (std::size_t i = 0; i < codes.size(); ++i) refuse_known(entries.first + i);
  }
  catalog.next_id = next_id_after(entries, catalog.next_id);
  // The last segments that are not much larger go into the new one: few remain, and each code moves rarely.
  std::size_t keep = catalog.segments.size();
  std::size_t size = entries.codes.size();
  while (keep > 0 && catalog.segments[keep - 1].live_count <= 2 * size &&
         size + catalog.segments[keep - 1].live_count <= std::numeric_limits<std::uint32_t>::max()) {
    size += catalog.segments[--keep].live_count;
  }
  if (keep < catalog.segments.size()) {
    const auto absorbed = std::span(change.segments()).subspan(keep);
    entries = joined(entries_in(absorbed, catalog), entries, catalog.names);
  }
  catalog.segments.resize(keep);
  catalog.segments.push_back(write_segment(change.writer(), entries, options));
  change.commit();
  change.tidy(options);
}

void remove_from_index(const std::string& path, const IndexKeys& keys) {
  Change change(path);
  Catalog& catalog = change.catalog();
  std::vector<std::vector<std::uint64_t>> live(catalog.segments.size());
  const auto remove = [&](const auto& key) {
    const auto place = change.find(key);
    if (!place) misuse("{}: {} is not there; leave it out", path, quoted(key));
    const auto [s, row] = *place;
    const Segment& segment = change.segments()[s];
    if (live[s].empty()) {
      const std::size_t words = (segment.size() + 63) / 64;
      if (segment.live != nullptr) {
        live[s].assign(segment.live, segment.live + words);
      } else {
        live[s].assign(words, ~std::uint64_t{0});
      }
    }
    const std::uint64_t bit = std::uint64_t{1} << row % 64;
    if ((live[s][row / 64] & bit) == 0) misuse("{}: {} is given twice; name every key once", path, quoted(key));
    live[s][row / 64] &= ~bit;
    --catalog.segments[s].live_count;
  };
  for (const auto& name : keys.names) remove(name);
  for (const std::uint64_t id : keys.ids) remove(id);
  if (keys.names.empty() && keys.ids.empty()) return;
  std::vector<SegmentRecord> left;
  for (std::size_t s = 0; s < catalog.segments.size(); ++s) {
    SegmentRecord& record = catalog.segments[s];
    if (record.live_count == 0) continue;
    if (!live[s].empty()) record.live = change.writer().append(std::as_bytes(std::span(live[s])));
    left.push_back(record);
  }
  catalog.segments = std::move(left);
  change.commit();
  change.tidy({});
}

void compact_index(const std::string& path, const IndexOptions& options) { Change(path).rewrite(options); }

void verify_index(const std::string& path) {
  const InputFile file(path);
  const IndexState state = read_state(file);
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
        failure("{}: is damaged: the checksum of {} bytes at byte {} does not agree", path, extent.bytes,
                extent.offset);
      }
    }
  }
}

}  // namespace bdnn
