// The layout of an index file; docs/formats.md describes it.
//
// Two superblocks, then sections one after the other: codes, keys, hash tables, and a catalog that says where they
// stand. A change appends sections and a new catalog, and then writes the superblock that is not in use, which makes
// the change happen. What a superblock leads to is never written again, so those who read are not disturbed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "search/content.h"

namespace bdnn {

inline constexpr std::uint64_t kSuperblockSpace = 4096;  // each of the two
inline constexpr std::uint64_t kFirstSection = 2 * kSuperblockSpace;
inline constexpr std::uint64_t kSectionAlignment = 64;
inline constexpr std::uint64_t kSumBlock = 4096;  // bytes of a section that have a checksum of their own

// A section of the file.
struct FileSection {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

struct HashTableRecord {
  Substring substring;
  FileSection occupied;
  FileSection starts;
  FileSection rows;
  std::optional<FileSection> planes;
};

struct SegmentRecord {
  std::uint64_t count = 0;
  std::uint64_t live_count = 0;
  FileSection codes;
  std::optional<FileSection> live;  // none: all are
  std::uint64_t first_id = 0;       // where there are neither ids nor names
  std::optional<FileSection> ids;
  std::optional<FileSection> name_starts;
  std::optional<FileSection> text;
  std::optional<FileSection> block_sums;       // a uint64 per block of codes, ids, name_starts and text, in this order
  std::optional<FileSection> live_block_sums;  // the same of live; files of earlier programs have neither
  std::vector<HashTableRecord> hash_tables;
  Statistics statistics;
};

struct Catalog {
  std::size_t bits = 0;
  bool names = false;
  std::uint64_t next_id = 0;
  CodesOrigin origin;
  IndexOptions::Tables tables = IndexOptions::Tables::automatic;  // hash tables, as the index was built
  std::vector<SegmentRecord> segments;
};

// Blocks of a section that have checksums of their own.
inline std::size_t blocks_in(const FileSection& extent) { return (extent.bytes + kSumBlock - 1) / kSumBlock; }

// Every section that a segment uses.
std::vector<FileSection> extents_of(const SegmentRecord& segment);

// The state of a file: a catalog, and where it stands.
struct IndexState {
  std::uint64_t sequence = 0;
  FileSection catalog_extent;
  std::uint64_t end = 0;  // of all sections
  Catalog catalog;
  std::string damage;   // why the file must not be changed: a damaged superblock may have been the latest; or empty
  std::string warning;  // damage that the next change mends; or empty
};

bool is_index_file(const std::string& path);

// The latest state, verified to lie within the file. Damage, and a version that is not known, raise Error.
IndexState read_state(const InputFile& file);

// The latest state whose catalog can be read, of a file that may end too early. Says in `damage` what cannot be read.
IndexState read_sound_state(const InputFile& file, std::vector<std::string>& damage);

// The superblock that makes the state current, and where to write it.
struct SuperblockWrite {
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
};
SuperblockWrite superblock_for(const IndexState& state);

// Maps the file, and verifies the state as far as the structure goes.
std::shared_ptr<const Index::Content> map_content(const InputFile& file, const IndexState& state);

// The same in memory of its own, in large pages where the system gives them: hash tables are looked at here and there.
std::shared_ptr<const Index::Content> load_content(const InputFile& file, const IndexState& state);

// The same of a file that may end too early; zeros take the place of what is not there.
std::shared_ptr<const Index::Content> load_damaged_content(const InputFile& file, const IndexState& state);

}  // namespace bdnn
