// Damage of index files: it is found, it never spreads, and what is sound can be kept.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/checksum.h"
#include "base/random.h"
#include "bdnn/index.h"
#include "expect_error.h"
#include "search/catalog.h"
#include "search/search_testing.h"
#include "temporary_directory.h"
#include "whole_file.h"

namespace bdnn {
namespace {

using testing::clustered_codes;
using testing::read_file;
using testing::TemporaryDirectory;
using testing::write_file;

// Every code of an index by its key.
std::map<std::string, std::string> content_of(const std::string& path) {
  const Index index = Index::open(path);
  const CodeLayout layout(index.bits());
  std::map<std::string, std::string> codes;
  for (const Segment& segment : index.content().segments) {
    for (std::size_t row = 0; row < segment.size(); ++row) {
      if (!segment.is_live(row)) continue;
      std::string code(layout.bytes_per_code(), '\0');
      deinterleave(layout, segment.codes.tiles, row, reinterpret_cast<std::uint8_t*>(code.data()));
      const std::string key =
          segment.keys.names() ? std::string(segment.keys.name(row)) : std::to_string(segment.keys.id(row));
      EXPECT_TRUE(codes.emplace(key, code).second) << key;
    }
  }
  return codes;
}

IndexState state_of(const std::string& path) { return read_state(InputFile(path)); }

std::vector<std::uint64_t> sparse_ids(std::size_t count) {
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(3 * i + i % 2);
  return ids;
}

std::vector<std::string> some_names(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("name {:05}", i * 7));
  return names;
}

// An index of two segments with removals in both, large enough for many blocks of checksums.
class IndexDamage : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const Codes codes = clustered_codes(24, 6000, 0.2, 1);
    IndexKeys keys;
    IndexKeys some;
    IndexKeys gone;
    if (GetParam()) {
      keys.names = some_names(6000);
      for (int i = 0; i < 400; ++i) some.names.push_back(fmt::format("more {}", i));
      gone.names = {keys.names[5], keys.names[77], "more 3"};
    } else {
      keys.ids = sparse_ids(6000);
      for (std::uint64_t i = 0; i < 400; ++i) some.ids.push_back(100'000 + 2 * i);
      gone.ids = {keys.ids[5], keys.ids[77], 100'006};
    }
    const IndexOptions options{.tables = IndexOptions::Tables::always, .threads = 1};
    build_index(path, codes, keys, options);
    add_to_index(path, codes.slice(0, 400), some, options);
    remove_from_index(path, gone);
    whole = read_file(path);
    truth = content_of(path);
  }

  void flip(std::uint64_t at, char bits = 1) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ bits);
    write_file(path, damaged);
  }

  // What is kept is as it was, and kept and lost together are all there was. Where removals cannot be read, codes that
  // had been removed count as lost.
  void expect_salvages(std::size_t most_lost, std::size_t removed_counted_as_lost) {
    const IndexSalvage report = salvage_index(path, {.threads = 1});
    EXPECT_FALSE(report.damage.empty());
    verify_index(path);
    const auto now = content_of(path);
    EXPECT_EQ(now.size(), report.kept);
    EXPECT_EQ(report.kept + report.lost, truth.size() + removed_counted_as_lost);
    EXPECT_LE(report.lost, most_lost);
    for (const auto& [key, code] : now) EXPECT_EQ(truth.at(key), code) << key;
    std::set<std::string> lost(report.lost_names.begin(), report.lost_names.end());
    for (const std::uint64_t id : report.lost_ids) lost.insert(std::to_string(id));
    std::size_t known = 0;
    for (const std::string& key : lost) {
      EXPECT_FALSE(now.contains(key)) << key;
      known += truth.contains(key) ? 1 : 0;
    }
    EXPECT_EQ(known + removed_counted_as_lost, lost.size());
    EXPECT_EQ(Index::open(path).info().tables_choice, IndexOptions::Tables::always);
  }

  TemporaryDirectory folder;
  std::string path = folder / "x.index";
  std::string whole;
  std::map<std::string, std::string> truth;
};
INSTANTIATE_TEST_SUITE_P(IdsAndNames, IndexDamage, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Names" : "Ids"; });

TEST_P(IndexDamage, IsNotRewrittenUnderANewChecksum) {
  const Codes many = clustered_codes(24, 9000, 0.2, 7);
  IndexKeys keys;  // as many as let an addition merge all segments
  for (std::size_t i = 0; i < many.size(); ++i) {
    if (GetParam()) {
      keys.names.push_back(fmt::format("z{}", i));
    } else {
      keys.ids.push_back(1'000'000 + i);
    }
  }
  for (const SegmentRecord& segment : state_of(path).catalog.segments) {
    std::vector<FileSection> carried = {segment.codes};
    for (const auto& extent : {segment.live, segment.ids, segment.name_starts, segment.text}) {
      if (extent) carried.push_back(*extent);
    }
    for (const FileSection& extent : carried) {
      flip(extent.offset + extent.bytes / 2);
      const std::string damaged = read_file(path);
      EXPECT_THROW(verify_index(path), DamagedIndex);
      EXPECT_BDNN_ERROR(compact_index(path), failure, "is damaged");
      EXPECT_BDNN_ERROR(add_to_index(path, many, keys), failure, "do not agree with their checksum");
      EXPECT_EQ(read_file(path), damaged);
      EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
      // A block of codes of three bytes, or of keys; of removals, all that a block marks.
      const bool removals = segment.live && extent.offset == segment.live->offset;
      expect_salvages(removals ? segment.count : 1400, removals ? segment.count - segment.live_count : 0);
    }
  }
}

TEST_P(IndexDamage, OfHashTablesIsHealedByCompacting) {
  const HashTableRecord table = state_of(path).catalog.segments[0].hash_tables[0];
  flip(table.rows.offset + 5);
  EXPECT_THROW(verify_index(path), DamagedIndex);
  compact_index(path);
  verify_index(path);
  EXPECT_EQ(content_of(path), truth);
}

TEST_P(IndexDamage, OfRemovalsIsNotCopiedByTheNextRemoval) {
  const SegmentRecord segment = state_of(path).catalog.segments[0];
  flip(segment.live->offset + 300);
  const std::string damaged = read_file(path);
  const IndexKeys keys = GetParam() ? IndexKeys{.names = {some_names(10)[9]}} : IndexKeys{.ids = {sparse_ids(10)[9]}};
  EXPECT_BDNN_ERROR(remove_from_index(path, keys), failure, "the removals");
  EXPECT_EQ(read_file(path), damaged);
}

TEST_P(IndexDamage, AnEndThatIsMissingCostsTheLastChangeOrLess) {
  write_file(path, whole.substr(0, whole.size() - 10));
  EXPECT_THROW(Index::open(path), DamagedIndex);
  const IndexSalvage report = salvage_index(path, {.threads = 1});
  EXPECT_EQ(report.lost, 0U);
  EXPECT_EQ(report.kept, truth.size() + 3);  // before the last change, which removed three
  ASSERT_EQ(report.damage.size(), 1U);
  EXPECT_NE(report.damage[0].find("the last change, which is lost"), std::string::npos);
  verify_index(path);
}

// A file of a program that wrote neither checksums of blocks nor the choice of hash tables.
TEST_P(IndexDamage, FilesOfEarlierProgramsStayReadable) {
  IndexState state = state_of(path);
  for (SegmentRecord& segment : state.catalog.segments) {
    segment.block_sums.reset();
    segment.live_block_sums.reset();
  }
  std::string text = to_text(state.catalog);
  for (const std::string member : {"\"block_sums\":null,", "\"live_block_sums\":null,", ",\"tables\":\"always\""}) {
    for (std::size_t at = 0; (at = text.find(member)) != std::string::npos;) text.erase(at, member.size());
  }
  EXPECT_EQ(text.find("block_sums"), std::string::npos);
  state.catalog_extent.bytes = text.size();
  state.catalog_extent.checksum = checksum(std::as_bytes(std::span(text)));
  whole.replace(state.catalog_extent.offset, text.size(), text);
  const SuperblockWrite block = superblock_for(state);
  whole.replace(block.offset, block.bytes.size(), reinterpret_cast<const char*>(block.bytes.data()),
                block.bytes.size());
  write_file(path, whole);
  EXPECT_EQ(content_of(path), truth);
  verify_index(path);
  // Without checksums of blocks, a damaged section is lost as a whole.
  const SegmentRecord& segment = state.catalog.segments[1];
  flip(segment.codes.offset + 8);
  EXPECT_BDNN_ERROR(compact_index(path), failure, "the codes");
  const IndexSalvage report = salvage_index(path);
  EXPECT_EQ(report.lost, segment.live_count);
  EXPECT_EQ(report.kept, truth.size() - segment.live_count);
}

// Each bit of both superblocks: the latest state is read, and what may have been lost is said.
// Slow: an index is opened for each of 1,024 bits, and changed for some.
TEST_P(IndexDamage, OfASuperblockIsSaidAndNeverBringsAnOldStateBackSilently) {
  const std::uint64_t in_use = superblock_for(state_of(path)).offset;
  const IndexKeys keys = GetParam() ? IndexKeys{.names = {"new"}} : IndexKeys{.ids = {999'999}};
  const Codes one = clustered_codes(24, 1, 0.2, 1);
  std::size_t refused = 0;
  for (const std::uint64_t place : {std::uint64_t{0}, kSuperblockSpace}) {
    for (std::uint64_t bit = 0; bit < 512; ++bit) {
      flip(place + bit / 8, static_cast<char>(1 << bit % 8));
      const Index index = Index::open(path);
      ASSERT_EQ(index.size(), truth.size()) << place << " " << bit;
      ASSERT_FALSE(index.info().warnings.empty()) << place << " " << bit;
      if (bit % 64 != 7) continue;
      if (place != in_use) {
        EXPECT_EQ(add_to_index(path, one, keys).added, 1U);
        verify_index(path);
        continue;
      }
      EXPECT_THROW(verify_index(path), DamagedIndex);
      EXPECT_BDNN_ERROR(add_to_index(path, one, keys), failure, "a bit of its header was flipped");
      EXPECT_EQ(salvage_index(path).lost, 0U);
      EXPECT_EQ(content_of(path), truth);
      ++refused;
    }
  }
  EXPECT_EQ(refused, 8U);
  // More than a bit: the state before the last change is read, which is said; nothing can be written until salvaged.
  std::string damaged = whole;
  std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(in_use) + 20, 20, 'x');
  write_file(path, damaged);
  const Index index = Index::open(path);
  EXPECT_EQ(index.size(), truth.size() + 3);
  ASSERT_EQ(index.info().warnings.size(), 1U);
  EXPECT_NE(index.info().warnings[0].find("the last change is missing"), std::string::npos);
  EXPECT_BDNN_ERROR(add_to_index(path, one, keys), failure, "one of its two headers cannot be read");
  EXPECT_BDNN_ERROR(compact_index(path), failure, "one of its two headers cannot be read");
  EXPECT_EQ(read_file(path), damaged);
  EXPECT_EQ(salvage_index(path).kept, truth.size() + 3);
  EXPECT_TRUE(Index::open(path).info().warnings.empty());
  // The one that is not in use may be in any condition.
  for (const char filling : {'\0', 'x'}) {
    damaged = whole;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(kSuperblockSpace - in_use), 64, filling);
    write_file(path, damaged);
    EXPECT_EQ(content_of(path), truth);
    add_to_index(path, one, keys);
    EXPECT_TRUE(Index::open(path).info().warnings.empty());
  }
}

TEST(IndexVersion, ThatIsNotKnownIsRefused) {
  const TemporaryDirectory folder;
  const std::string path = folder / "x.index";
  build_index(path, clustered_codes(24, 10, 0.2, 1));
  std::string newer = read_file(path);
  newer[8] = 9;
  const std::uint64_t sum = checksum(std::as_bytes(std::span(newer)).first(56));
  newer.replace(56, 8, reinterpret_cast<const char*>(&sum), 8);
  write_file(path, newer);
  EXPECT_BDNN_ERROR(Index::open(path), failure, "is of index version 9, this program knows up to 1");
  newer[57] = static_cast<char>(newer[57] ^ 0x33);
  write_file(path, newer);
  EXPECT_BDNN_ERROR(Index::open(path), failure, "or use a newer bdnn if it is of index version 9");
}

// Random damage of random files. BDNN_ATTACK_CASES=100000 for the long form.
TEST(IndexDamageAtRandom, NeverCrashesNorSpreads) {
  const char* wanted = std::getenv("BDNN_ATTACK_CASES");
  const int cases = wanted == nullptr ? 100 : std::atoi(wanted);
  const TemporaryDirectory folder;
  const std::string path = folder / "x.index";
  Random random(11);
  Searcher searcher(1);
  Results results;
  std::string whole;
  std::map<std::string, std::string> truth;
  std::map<std::string, std::string> truth_before;
  std::size_t opened = 0;
  std::size_t verified = 0;
  std::size_t compacted = 0;
  std::size_t salvaged = 0;
  for (int i = 0; i < cases; ++i) {
    if (i % 50 == 0) {
      const std::size_t bits = 8 + 8 * random.below(6);
      const bool names = random.below(2) == 0;
      const Codes codes = clustered_codes(bits, 60 + random.below(400), 0.2, i + 1);
      const IndexOptions options{
          .tables = random.below(2) == 0 ? IndexOptions::Tables::always : IndexOptions::Tables::never, .threads = 1};
      build_index(path, codes,
                  names ? IndexKeys{.names = some_names(codes.size())} : IndexKeys{.ids = sparse_ids(codes.size())},
                  options);
      remove_from_index(path, names ? IndexKeys{.names = {some_names(9)[8]}} : IndexKeys{.ids = {sparse_ids(9)[8]}});
      truth_before = content_of(path);
      add_to_index(path, codes.slice(0, 20),
                   names ? IndexKeys{.names =
                                         [] {
                                           std::vector<std::string> more;
                                           for (int k = 0; k < 20; ++k) more.push_back(fmt::format("q{}", k));
                                           return more;
                                         }()}
                         : IndexKeys{.ids = {9000, 9001, 9002, 9003, 9004, 9005, 9006, 9007, 9008, 9009,
                                             9010, 9011, 9012, 9013, 9014, 9015, 9016, 9017, 9018, 9019}},
                   options);
      truth = content_of(path);
      whole = read_file(path);
    }
    std::string damaged = whole;
    const auto damages = 1 + random.below(4);
    for (std::uint64_t k = 0; k < damages; ++k) {
      // Of headers and catalog as often as of the rest.
      const std::size_t from = random.below(2) == 0 ? 0 : 4096 * random.below(2);
      const std::size_t range = from == 0 ? damaged.size() : 64;
      char& byte = damaged[from + random.below(range)];
      byte = random.below(2) == 0 ? static_cast<char>(byte ^ (1 << random.below(8)))
                                  : static_cast<char>(random.below(256));
    }
    if (random.below(8) == 0) damaged.resize(random.below(damaged.size()));
    if (damaged == whole) continue;
    write_file(path, damaged);
    try {
      const Index index = Index::open(path);
      const Codes queries = clustered_codes(index.bits(), 2, 0.2, 3);
      for (const Plan plan : {Plan::scan, Plan::automatic})
        searcher.search(index, queries, {.k = 3, .plan = plan}, results);
      ++opened;
      verify_index(path);
      ++verified;  // only what is in no section, or was damaged as it was
    } catch (const Error&) {
    }
    // Compacted or not, codes are what they were.
    try {
      compact_index(path, {.threads = 1});
      ++compacted;
      ASSERT_EQ(content_of(path), truth) << i;
      continue;
    } catch (const Error&) {
      ASSERT_EQ(read_file(path), damaged) << i;
    }
    try {
      const IndexSalvage report = salvage_index(path, {.threads = 1});
      ++salvaged;
      verify_index(path);
      for (const auto& [key, code] : content_of(path)) {
        const bool now = truth.contains(key) && truth.at(key) == code;
        ASSERT_TRUE(now || (truth_before.contains(key) && truth_before.at(key) == code)) << i << " " << key;
      }
      EXPECT_FALSE(report.damage.empty()) << i;
    } catch (const Error&) {
      ASSERT_EQ(read_file(path), damaged) << i;
    }
  }
  fmt::print(
      "{} damaged files: {} could be searched, {} passed verification, {} were compacted without loss, {} salvaged\n",
      cases, opened, verified, compacted, salvaged);
}

}  // namespace
}  // namespace bdnn
