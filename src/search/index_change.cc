// Changes of index files.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/locked_file.h"
#include "bdnn/index.h"
#include "coding/codes_match.h"
#include "search/catalog.h"
#include "search/index_file.h"
#include "search/segment_check.h"

namespace bdnn {
namespace {

constexpr std::uint64_t kToleratedWaste = std::uint64_t{64} << 10;  // beside as much again as is in use

std::string in_words(std::uint64_t id) { return fmt::format("id {}", id); }
std::string in_words(const std::string& name) { return fmt::format("name '{}'", name); }

// A change of an index file, which happens with commit() or not at all.
class Change {
 public:
  Change(const std::string& path, const IndexOptions& options)
      : lock_(path, options.waiting),
        file_(path),
        state_(read_state(file_)),
        content_(map_content(file_, state_)),
        segments_(content_->segments),
        live_(segments_.size()),
        old_end_(state_.end),
        options_(options),
        writer_([this](std::uint64_t offset, std::span<const std::byte> bytes) { lock_.write_at(offset, bytes); },
                state_.end) {
    if (!state_.damage.empty()) throw DamagedIndex(fmt::format("{}: {}", path, state_.damage));
    if (!options_.tables) options_.tables = state_.catalog.tables;
  }

  ~Change() {
    if (begun_) lock_.cut(old_end_);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  const Catalog& catalog() const { return state_.catalog; }
  std::uint64_t& next_id() { return state_.catalog.next_id; }

  // In which segment and row a key is; none if it is not there, or was removed by this change.
  using Place = std::pair<std::size_t, std::size_t>;
  template <class Key>
  std::optional<Place> find(const Key& key) const {
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      const auto row = segments_[s].keys.find(key);
      if (row && segments_[s].is_live(*row)) return Place(s, *row);
    }
    return std::nullopt;
  }

  void remove(const Place& place) {
    const auto [s, row] = place;
    Segment& segment = segments_[s];
    if (live_[s].empty()) {
      check_live(state_.catalog.segments[s], content_->memory.get(), lock_.path());
      const std::size_t words = (segment.size() + 63) / 64;
      if (segment.live != nullptr) {
        live_[s].assign(segment.live, segment.live + words);
      } else {
        live_[s].assign(words, ~std::uint64_t{0});
      }
      segment.live = live_[s].data();
    }
    live_[s][row / 64] &= ~(std::uint64_t{1} << row % 64);
    --segment.live_count;
  }

  // Writes entries as a new segment. The last segments that are not much larger go into it: few remain, and each code
  // moves rarely.
  void add(Entries entries) {
    std::size_t keep = segments_.size();
    std::size_t size = entries.codes.size();
    while (keep > 0 && segments_[keep - 1].live_count <= 2 * size &&
           size + segments_[keep - 1].live_count <= std::numeric_limits<std::uint32_t>::max()) {
      size += segments_[--keep].live_count;
    }
    const auto absorbed = std::span(segments_).subspan(keep);
    check(keep);
    if (!absorbed.empty()) entries = joined(entries_in(absorbed, catalog()), entries, catalog().names);
    segments_.resize(keep);
    state_.catalog.segments.resize(keep);
    begun_ = true;
    added_ = write_segment(writer_, entries, options_);
  }

  void commit() {
    begun_ = true;
    std::vector<SegmentRecord> left;
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      SegmentRecord& record = state_.catalog.segments[s];
      record.live_count = segments_[s].live_count;
      if (record.live_count == 0) continue;
      if (!live_[s].empty()) write_live(writer_, live_[s], record);
      left.push_back(record);
    }
    if (added_) left.push_back(*added_);
    state_.catalog.segments = std::move(left);
    const std::string text = to_text(state_.catalog);
    state_.catalog_extent = writer_.append(std::as_bytes(std::span(text)));
    state_.end = writer_.end();
    ++state_.sequence;
    lock_.sync();  // what the superblock leads to is there before it does
    const SuperblockWrite block = superblock_for(state_);
    lock_.write_at(block.offset, block.bytes);
    begun_ = false;  // from here on the change has happened, and nothing is cut
    lock_.sync("is changed, but the change may be lost if the power fails: cannot sync");
  }

  // After commit(): rewrites the file where most of it is not in use any more. The change stands whatever happens.
  std::vector<std::string> tidy() {
    try {
      const auto content = map_content(file_, state_);
      const std::uint64_t used = content->info.bytes - content->info.unused;
      if (content->info.unused <= used + kToleratedWaste) return {};
      content_ = content;
      segments_ = content->segments;
      rewrite();
      return {};
    } catch (const std::exception& error) {
      return {fmt::format(
          "the change is made; the compaction that was due failed and is tried again with the next change: {}",
          error.what())};
    }
  }

  // In the lock's keeping, so that no other writer comes between.
  void rewrite() {
    check(0);
    write_index_file(lock_.path(), entries_in(segments_, catalog()), catalog(), options_);
  }

 private:
  // That segments from `first` on can be carried over: damage must not get a new checksum.
  void check(std::size_t first) const {
    for (std::size_t s = first; s < segments_.size(); ++s) {
      check_segment(state_.catalog.segments[s], catalog().bits, content_->memory.get(), lock_.path());
    }
  }

  LockedFile lock_;
  InputFile file_;
  IndexState state_;
  std::shared_ptr<const Index::Content> content_;
  std::vector<Segment> segments_;                 // as this change leaves them
  std::vector<std::vector<std::uint64_t>> live_;  // of segments from which something was removed
  std::uint64_t old_end_;
  IndexOptions options_;
  SectionWriter writer_;
  std::optional<SegmentRecord> added_;
  bool begun_ = false;
};

// Calls work(key) for each key.
template <class Work>
void for_each_key(const Entries& entries, const Work& work) {
  for (const auto& name : entries.names) work(name);
  for (const std::uint64_t id : entries.ids) work(id);
  for (std::size_t i = 0; entries.is_dense() && i < entries.codes.size(); ++i) work(entries.first + i);
}

// Adds codes; those whose keys are there already are replaced or refused.
IndexChange add(const std::string& path, const Codes& codes, const IndexKeys& keys, const IndexOptions& options,
                bool replace) {
  Change change(path, options);
  const Catalog& catalog = change.catalog();
  with_name(path, [&] { check_can_be_added(catalog.bits, catalog.origin, codes); });
  if (codes.size() == 0) return {};
  if (catalog.names != !keys.names.empty()) {
    misuse("{}: the keys of its codes are {}; give {} for those to be added", path, catalog.names ? "names" : "ids",
           catalog.names ? "names" : "ids, or nothing to count on");
  }
  const Entries entries = entries_of(codes, keys, catalog.next_id);
  IndexChange done;
  for_each_key(entries, [&](const auto& key) {
    const auto place = change.find(key);
    if (!place) return;
    if (!replace) misuse("{}: {} is there already; replace it, remove it first, or leave it out", path, in_words(key));
    change.remove(*place);
    ++done.replaced;
  });
  done.added = codes.size() - done.replaced;
  change.next_id() = next_id_after(entries, catalog.next_id);
  change.add(entries);
  change.commit();
  done.warnings = change.tidy();
  return done;
}

template <class Key>
void refuse_twice(std::vector<Key> keys, const std::string& path) {
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice != keys.end()) misuse("{}: {} is given twice; name every key once", path, in_words(*twice));
}

}  // namespace

IndexChange add_to_index(const std::string& path, const Codes& codes, const IndexKeys& keys,
                         const IndexOptions& options) {
  return add(path, codes, keys, options, false);
}

IndexChange upsert_in_index(const std::string& path, const Codes& codes, const IndexKeys& keys,
                            const IndexOptions& options) {
  if (keys.ids.empty() && keys.names.empty() && codes.size() > 0) {
    misuse("{}: codes can be replaced only by their keys; give their ids or names", path);
  }
  return add(path, codes, keys, options, true);
}

IndexChange remove_from_index(const std::string& path, const IndexKeys& keys, const IndexOptions& options) {
  Change change(path, options);
  const bool names = change.catalog().names;
  if (names ? !keys.ids.empty() : !keys.names.empty()) {
    misuse("{}: the keys of its codes are {}, not {}; name the codes to be removed by their {}", path,
           names ? "names" : "ids", names ? "ids" : "names", names ? "names" : "ids");
  }
  refuse_twice(keys.ids, path);
  refuse_twice(keys.names, path);
  IndexChange done;
  const auto remove = [&](const auto& key) {
    const auto place = change.find(key);
    if (!place && !options.ignore_missing) misuse("{}: {} is not there; leave it out", path, in_words(key));
    if (place) change.remove(*place);
    ++(place ? done.removed : done.missing);
  };
  for (const auto& name : keys.names) remove(name);
  for (const std::uint64_t id : keys.ids) remove(id);
  if (done.removed == 0) return done;
  change.commit();
  done.warnings = change.tidy();
  return done;
}

void compact_index(const std::string& path, const IndexOptions& options) { Change(path, options).rewrite(); }

}  // namespace bdnn
