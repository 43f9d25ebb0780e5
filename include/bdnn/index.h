// An index: codes arranged for search, under keys of their own, in one file.
//
//     bdnn::build_index("photos.index", codes);                      // keys 0, 1, 2, ...
//     bdnn::add_to_index("photos.index", more, {.ids = {1000, 1001}});
//     bdnn::Index index = bdnn::Index::open("photos.index");         // milliseconds, whatever its size
//     bdnn::Searcher searcher;
//     bdnn::Results results;
//     searcher.search(index, queries, {.k = 10}, results);
//     for (auto [id, distance] : results[0]) { ... }
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bdnn/codes.h"
#include "bdnn/results.h"
#include "bdnn/search.h"

namespace bdnn {

// The keys of codes: 64-bit ids or names, one per code and none twice. Both empty: ids that count on from the last one.
struct IndexKeys {
  std::vector<std::uint64_t> ids = {};
  std::vector<std::string> names = {};
};

struct IndexOptions {
  // Tables for multi-index hashing and bucket lookup: where they are expected to make searches faster, always, or
  // never. They take several times the memory of the codes.
  enum class Tables : std::uint8_t { automatic, always, never };
  Tables tables = Tables::automatic;
  int threads = 0;  // 0: one per core
};

// What an index holds, without the codes.
struct IndexInfo {
  std::size_t bits = 0;
  std::size_t size = 0;      // codes that can be found
  std::size_t removed = 0;   // codes that were removed but still take room
  std::size_t segments = 0;  // pieces that were added one by one; few, whatever the number of additions
  std::size_t tables = 0;    // over substrings, of the largest segment
  bool names = false;        // keys are names, not ids
  std::uint64_t bytes = 0;   // of the file
  std::uint64_t unused = 0;  // of them, what compacting would give back
  double duplicates = 0;     // the share of codes that have an equal, measured on a sample of the largest segment
  CodesOrigin origin;
};

// An index as it was when it was opened. What others add, remove or compact later does not disturb it: open it again to
// see that. Copies are cheap, and any number of threads may search the same one.
class Index {
 public:
  // Looks at the file where it stands. Its structure is verified; the checksums of what it holds are not (verify_index
  // does that), but no content, damaged or hostile, leads to memory that is not the index's.
  static Index open(const std::string& path);

  // Reads the file into memory of its own, in large pages: for those who search for long, lookups in tables get faster.
  static Index load(const std::string& path);

  // In memory, without a name.
  static Index build(const Codes& codes, const IndexKeys& keys = {}, const IndexOptions& options = {});

  std::size_t bits() const;
  std::size_t size() const;
  const IndexInfo& info() const;

  // Where keys are names, a Neighbour's id stands for one, in this object and its copies only; neighbours at the same
  // distance are in the order of the names' bytes.
  std::string_view name(std::uint64_t id) const;

  struct Content;
  const Content& content() const { return *content_; }

 private:
  explicit Index(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

// Raises Error unless the codes of the index can be read through the model: as check_codes_match() (bdnn/encode.h).
struct Model;
void check_index_matches(const Model& model, const Index& index);

// A new file, in the place of an old one if there is one. Keys that come twice raise Error.
void build_index(const std::string& path, const Codes& codes, const IndexKeys& keys = {},
                 const IndexOptions& options = {});

// Changes to a file. Each is durable when the call returns and all or nothing: whatever ends the process, at any time,
// the file holds the old state or the new. Writers wait for each other; readers are not disturbed. A key that is there
// already, or that is to be removed and is not there, raises Error and changes nothing.
void add_to_index(const std::string& path, const Codes& codes, const IndexKeys& keys = {},
                  const IndexOptions& options = {});
void remove_from_index(const std::string& path, const IndexKeys& keys);

// Gives back the room of what was removed, and makes one segment of all.
void compact_index(const std::string& path, const IndexOptions& options = {});

// Reads the whole file and raises Error where a checksum does not agree.
void verify_index(const std::string& path);

// The codes of an index that a search may return, of all that it holds. Made once, used often.
class Filter {
 public:
  // Those with these keys; keys that the index does not hold are passed over.
  Filter(const Index& index, std::span<const std::uint64_t> ids);
  Filter(const Index& index, std::span<const std::string> names);

  // Those whose id i has bit i % 8, counted from the least significant, of byte i / 8 set; ids beyond the end have not.
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

// Neighbours of many queries.
using Results = ResultLists<Neighbour>;

// Searches an index. It owns its threads and buffers: nothing is allocated per query once it has answered a few. One
// thread may use it at a time; threads that search at the same time have one each.
class Searcher {
 public:
  explicit Searcher(int threads = 0);  // 0: one per core
  ~Searcher();
  Searcher(Searcher&&) noexcept;
  Searcher& operator=(Searcher&&) noexcept;

  // The neighbours of each query, as search() defines them. options.threads is not used.
  void search(const Index& index, const Codes& queries, const SearchOptions& options, Results& results,
              const Filter* filter = nullptr);

  // What search() would do for so many queries, without doing it.
  PlanEstimate explain(const Index& index, std::size_t queries, const SearchOptions& options,
                       const Filter* filter = nullptr) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bdnn
