// An index: one file of codes arranged for search, with ids or names as keys.
//
//     bdnn::build_index("photos.index", codes);                      // keys 0, 1, 2, ...
//     bdnn::add_to_index("photos.index", more, {.ids = {1000, 1001}});
//     bdnn::Index index = bdnn::Index::open("photos.index");         // takes milliseconds at any size
//     bdnn::Searcher searcher;
//     bdnn::Results results;
//     searcher.search(index, queries, {.k = 10}, results);
//     for (auto [id, distance] : results[0]) { ... }
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bdnn/codes.h"
#include "bdnn/error.h"
#include "bdnn/hidden.h"
#include "bdnn/search.h"

namespace bdnn {

// Keys of codes: unique 64-bit ids or names, one per code. If both are empty, ids count up from the last one.
struct IndexKeys {
  std::vector<std::uint64_t> ids = {};
  std::vector<std::string> names = {};
};

struct IndexOptions {
  // Hash tables for multi-index hashing and bucket lookup: only if they are expected to make searches faster, always,
  // or never. They take several times the memory of the codes.
  enum class Tables : std::uint8_t { automatic, always, never };
  std::optional<Tables> tables = {};   // nullopt: as the index was built; automatic for a new one
  int threads = 0;                     // 0: one per core
  bool ignore_missing = false;         // for removals: ignore keys that are not in the index
  std::function<void()> waiting = {};  // called once before waiting for another writer
};

inline constexpr IndexOptions::Tables kAllTables[] = {IndexOptions::Tables::automatic, IndexOptions::Tables::always,
                                                      IndexOptions::Tables::never};
std::string_view name_of(IndexOptions::Tables tables);
IndexOptions::Tables tables_by_name(const std::string& name);  // an unknown name raises Error and lists the valid ones

// A summary of an index.
struct IndexInfo {
  std::size_t bits = 0;
  std::size_t size = 0;      // codes that can be found
  std::size_t removed = 0;   // removed codes that still take space
  std::size_t segments = 0;  // small ones are merged, so there are few
  std::size_t tables = 0;    // hash tables over substrings, in the largest segment
  bool names = false;        // keys are names, not ids
  std::uint64_t bytes = 0;   // size of the file
  std::uint64_t unused =
      0;                  // of these, bytes that compacting would free: removed codes and leftovers of earlier changes
  double duplicates = 0;  // share of codes with an equal one, from a sample of the largest segment
  CodesOrigin origin;
  IndexOptions::Tables tables_choice = IndexOptions::Tables::automatic;  // kept by compacting
  std::vector<std::string> warnings;  // damage that does not prevent searches; a sentence each
};

// Raised for a file whose damage affects the operation. salvage_index() keeps what is intact.
class DamagedIndex : public Error {
 public:
  explicit DamagedIndex(const std::string& message) : Error(Kind::failure, message) {}
};

// A snapshot of an index file as it was when opened. Later changes to the file do not affect it; open it again to see
// them. Copies are cheap, and any number of threads may search the same one.
class Index {
 public:
  // Maps the file into memory. Its structure is verified; the checksums of its content are not (verify_index does
  // that), but no content, however damaged or hostile, leads to a read outside the index.
  static Index open(const std::string& path);

  // Reads the file into memory with large pages, which make hash tables faster: for long-running searches.
  static Index load(const std::string& path);

  // Builds an index in memory, without a file.
  static Index build(const Codes& codes, const IndexKeys& keys = {}, const IndexOptions& options = {});

  std::size_t bits() const;
  std::size_t size() const;
  const IndexInfo& info() const;

  // The name behind a Neighbour's id, if keys are names. Such ids are valid for this object and its copies only;
  // neighbours at the same distance are in the byte order of their names.
  std::string_view name(std::uint64_t id) const;

  struct Content;
  const Content& content() const {
    if (!content_) throw Error(Error::Kind::misuse, "the index was moved from; use the one it was moved to");
    return *content_;
  }

 private:
  explicit Index(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

// check_codes_match() (bdnn/encode.h) for the codes of an index.
struct Model;
void check_index_matches(const Model& model, const Index& index);

// Writes a new file and replaces an existing one. Duplicate keys raise Error.
void build_index(const std::string& path, const Codes& codes, const IndexKeys& keys = {},
                 const IndexOptions& options = {});

// What a change did. A change that was made is never reported as an Error: a problem afterwards, such as an
// automatic compaction on a full disk, is a warning.
struct IndexChange {
  std::size_t added = 0;
  std::size_t replaced = 0;
  std::size_t removed = 0;
  std::size_t missing = 0;  // keys to remove that were not in the index
  std::vector<std::string> warnings;
};

// Changes to a file. Each is atomic, and durable when the call returns: if the process is killed at any time, the file
// holds the old state or the new. Writers wait for each other; readers are not disturbed. Adding an existing key or
// removing a missing one raises Error and changes nothing. A change that leaves more than half of the file unused
// compacts it. The parts that a change rewrites are verified first: a damaged file raises DamagedIndex and stays as it
// is.
IndexChange add_to_index(const std::string& path, const Codes& codes, const IndexKeys& keys = {},
                         const IndexOptions& options = {});
IndexChange remove_from_index(const std::string& path, const IndexKeys& keys, const IndexOptions& options = {});

// Adds codes and replaces those whose keys already exist, in one change.
IndexChange upsert_in_index(const std::string& path, const Codes& codes, const IndexKeys& keys,
                            const IndexOptions& options = {});

// Frees the space of removed codes and merges all segments into one.
void compact_index(const std::string& path, const IndexOptions& options = {});

// Reads the whole file and raises DamagedIndex if a checksum does not match.
void verify_index(const std::string& path);

// What salvage_index() found.
struct IndexSalvage {
  std::size_t kept = 0;
  std::size_t lost = 0;                 // codes that could not be kept ...
  std::vector<std::uint64_t> lost_ids;  // ... and their keys, as far as they can be read
  std::vector<std::string> lost_names;
  std::vector<std::string> damage;  // a sentence each; empty if the file was intact
};

// Rewrites a damaged index with all codes whose bytes, key and removal mark match their checksums, as compacting does
// with an intact index.
IndexSalvage salvage_index(const std::string& path, const IndexOptions& options = {});

// The codes of an index that a search may return. Build it once and reuse it.
class Filter {
 public:
  // Allows the codes with these keys; keys that are not in the index are ignored.
  Filter(const Index& index, std::span<const std::uint64_t> ids);
  Filter(const Index& index, std::span<const std::string> names);

  // Allows id i if bit i % 8, counted from the least significant, of byte i / 8 is set; ids beyond the end are not
  // allowed.
  static Filter from_bitmap(const Index& index, std::span<const std::uint8_t> bitmap);

  // The allowed rows of a segment, 64 to a word.
  const std::uint64_t* rows(std::size_t segment) const { return rows_[segment].data(); }
  std::size_t count(std::size_t segment) const { return counts_[segment]; }
  bool fits(const Index& index) const;

 private:
  explicit Filter(const Index& index);
  void allow(std::size_t segment, std::size_t row);

  Index index_;
  std::vector<std::vector<std::uint64_t>> rows_;
  std::vector<std::size_t> counts_;
};

// Searches an index. It owns its threads and buffers, and allocates nothing once warm. Not thread-safe: give each
// thread that searches its own.
class Searcher {
 public:
  explicit Searcher(int threads = 0);  // 0: one per core
  ~Searcher();
  Searcher(Searcher&&) noexcept;
  Searcher& operator=(Searcher&&) noexcept;

  // The neighbours of each query, in the order of bdnn::search(). options.threads is ignored.
  void search(const Index& index, const Codes& queries, const SearchOptions& options, Results& results,
              const Filter* filter = nullptr);

  // The plan for a batch of `queries` queries, without searching.
  PlanEstimate explain(const Index& index, std::size_t queries, const SearchOptions& options,
                       const Filter* filter = nullptr) const;

 private:
  struct State;
  Hidden<State> state_;
};

}  // namespace bdnn
