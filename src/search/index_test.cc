// Runs under ThreadSanitizer: an index is read and changed by several threads at once.
#include "bdnn/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/locked_file.h"
#include "base/random.h"
#include "expect_error.h"
#include "search/search_testing.h"
#include "temporary_directory.h"
#include "whole_file.h"

namespace bdnn {
namespace {

using testing::clustered_codes;
using testing::naive_answer;
using testing::naive_order;
using testing::read_file;
using testing::TemporaryDirectory;
using testing::write_file;

Codes part(const Codes& codes, std::size_t first, std::size_t count) {
  const auto* from = codes.data() + first * codes.bytes_per_code();
  return {codes.bits(), count, std::vector<std::uint8_t>(from, from + count * codes.bytes_per_code()), codes.origin()};
}

// The neighbours of `queries` that the index finds are those of a naive search of codes with ids, `gone` left out.
void expect_holds(const Index& index, const Codes& codes, const std::vector<std::uint64_t>& ids,
                  const std::vector<bool>& gone, const Codes& queries) {
  Searcher searcher(2);
  Results results;
  searcher.search(index, queries, {.k = 7}, results);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const auto order = naive_order(
        codes, queries[q], [&](std::size_t i) { return ids[i]; }, [&](std::size_t i) { return !gone[i]; });
    const auto found = results[q];
    ASSERT_EQ(std::vector<Neighbour>(found.begin(), found.end()), naive_answer(order, {.k = 7}));
  }
}

TEST(Index, AnswersAsIfItHeldWhatWasAddedAndNotRemoved) {
  for (const std::size_t bits : {9, 16, 40, 64, 130}) {
    const TemporaryDirectory folder;
    const std::string path = folder / "x.index";
    const Codes codes = clustered_codes(bits, 2000, 0.1, bits);
    const Codes queries = clustered_codes(bits, 5, 0.1, bits + 1);
    Random random(bits);
    std::vector<std::uint64_t> ids(codes.size());
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = (i * 7919 + 3) % 100'003;  // no two alike, in no order
    std::vector<bool> gone(codes.size(), true);
    const IndexOptions tables{.tables = IndexOptions::Tables::always, .threads = 2};
    std::size_t added = 300;
    build_index(path, part(codes, 0, added), {.ids = {ids.begin(), ids.begin() + 300}}, tables);
    std::fill(gone.begin(), gone.begin() + 300, false);
    for (int round = 0; round < 30; ++round) {
      const Index before = Index::open(path);
      const std::vector<bool> gone_before = gone;
      if (random.below(2) == 0 && added < codes.size()) {
        const std::size_t count = std::min<std::size_t>(1 + random.below(200), codes.size() - added);
        const auto from = ids.begin() + static_cast<std::ptrdiff_t>(added);
        add_to_index(path, part(codes, added, count), {.ids = {from, from + static_cast<std::ptrdiff_t>(count)}},
                     tables);
        for (std::size_t i = added; i < added + count; ++i) gone[i] = false;
        added += count;
      } else {
        std::vector<std::uint64_t> remove;
        for (std::size_t i = 0; i < added; ++i) {
          if (gone[i] || random.below(20) != 0) continue;
          remove.push_back(ids[i]);
          gone[i] = true;
        }
        if (!remove.empty()) remove_from_index(path, {.ids = remove});
      }
      if (round % 10 == 9) compact_index(path, tables);
      expect_holds(Index::open(path), codes, ids, gone, queries);
      expect_holds(before, codes, ids, gone_before, queries);  // who opened it earlier still sees the old state
    }
    verify_index(path);
    EXPECT_LE(Index::open(path).info().segments, 12U);
    EXPECT_EQ(Index::load(path).size(), Index::open(path).size());
  }
}

TEST(Index, NamesAreKeysInTheOrderOfTheirBytes) {
  const TemporaryDirectory folder;
  const std::string path = folder / "x.index";
  const Codes same(8, 3, std::vector<std::uint8_t>{1, 1, 1});
  build_index(path, same, {.names = {"pear", "apple", "fig"}});
  add_to_index(path, part(same, 0, 1), {.names = {"banana"}});
  add_to_index(path, same, {.names = {"\xc3\xa4", "a", "zebra"}});
  remove_from_index(path, {.names = {"fig"}});
  const Index index = Index::open(path);
  Searcher searcher(1);
  Results results;
  searcher.search(index, part(same, 0, 1), {.k = 10}, results);
  std::vector<std::string> names;
  for (const auto& neighbour : results[0]) names.emplace_back(index.name(neighbour.id));
  EXPECT_EQ(names, (std::vector<std::string>{"a", "apple", "banana", "pear", "zebra", "\xc3\xa4"}));
  const std::vector<std::string> wanted = {"zebra", "apple", "fig", "none"};
  const Filter filter(index, wanted);
  searcher.search(index, part(same, 0, 1), {.k = 10}, results, &filter);
  ASSERT_EQ(results[0].size(), 2U);
  EXPECT_EQ(index.name(results[0][0].id), "apple");
  EXPECT_BDNN_ERROR(index.name(77), misuse, "stands for no name");
}

TEST(Index, WhatDoesNotFitIsRefusedAndChangesNothing) {
  const TemporaryDirectory folder;
  const std::string path = folder / "x.index";
  const Codes codes = clustered_codes(24, 10, 0.2, 1);
  build_index(path, codes);
  const std::string before = read_file(path);
  EXPECT_BDNN_ERROR(add_to_index(path, part(codes, 0, 1), {.ids = {4}}), misuse, "id 4 is there already");
  EXPECT_BDNN_ERROR(add_to_index(path, part(codes, 0, 2), {.ids = {40, 40}}), misuse, "the id 40 is given twice");
  EXPECT_BDNN_ERROR(add_to_index(path, part(codes, 0, 1), {.names = {"a"}}), misuse, "the keys of its codes are ids");
  EXPECT_BDNN_ERROR(add_to_index(path, part(codes, 0, 3), {.ids = {1}}), misuse, "1 keys were given for 3 codes");
  EXPECT_BDNN_ERROR(add_to_index(path, clustered_codes(16, 3, 0.2, 1)), misuse, "holds codes of 24 bits");
  EXPECT_BDNN_ERROR(remove_from_index(path, {.ids = {3, 99}}), misuse, "id 99 is not there");
  EXPECT_BDNN_ERROR(remove_from_index(path, {.ids = {3, 3}}), misuse, "id 3 is given twice");
  EXPECT_EQ(read_file(path), before);
  Searcher searcher(1);
  Results results;
  EXPECT_BDNN_ERROR(searcher.search(Index::open(path), clustered_codes(32, 1, 0, 1), {}, results), misuse,
                    "the queries have 32 bits, the database has 24");
  const Filter other(Index::open(path), std::vector<std::uint64_t>{1});
  EXPECT_BDNN_ERROR(searcher.search(Index::open(path), codes, {}, results, &other), misuse, "made for another index");
  add_to_index(path, part(codes, 0, 1));
  EXPECT_EQ(Index::open(path).size(), 11U);
  EXPECT_BDNN_ERROR(add_to_index(path, part(codes, 0, 1), {.ids = {10}}), misuse, "id 10 is there already");
}

TEST(Index, CanBecomeEmptyAndFillAgain) {
  const TemporaryDirectory folder;
  const std::string path = folder / "x.index";
  const Codes codes = clustered_codes(24, 3, 0.2, 1);
  build_index(path, Codes(24, 0, std::vector<std::uint8_t>()));
  Searcher searcher(1);
  Results results;
  searcher.search(Index::open(path), codes, {}, results);
  EXPECT_TRUE(results[0].empty());
  add_to_index(path, codes);
  remove_from_index(path, {.ids = {0, 1, 2}});
  searcher.search(Index::open(path), codes, {.radius = 24}, results);
  EXPECT_EQ(results.size(), 3U);
  EXPECT_TRUE(results[2].empty());
  add_to_index(path, codes);
  searcher.search(Index::open(path), codes, {.k = 1}, results);
  EXPECT_GE(results[0][0].id, 3U);  // ids are not given twice
}

// Every truncation and damage of what leads to the sections is found out; damage of the sections is found by verify
// and, until then, does no harm.
TEST(Index, DamageIsFoundOut) {
  const TemporaryDirectory folder;
  const std::string path = folder / "x.index";
  const IndexOptions tables{.tables = IndexOptions::Tables::always, .threads = 1};
  const Codes codes = clustered_codes(20, 200, 0.2, 1);
  build_index(path, codes, {}, tables);
  add_to_index(path, part(codes, 0, 20), {}, tables);
  remove_from_index(path, {.ids = {5}});
  const std::string whole = read_file(path);
  const std::string broken = folder / "broken.index";
  Random random(3);
  Searcher searcher(1);
  Results results;
  const auto open_and_search = [&] {
    try {
      const Index index = Index::open(broken);
      for (const Plan plan : {Plan::scan, Plan::mih}) searcher.search(index, codes, {.k = 3, .plan = plan}, results);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  for (std::size_t length = 0; length < whole.size(); length += 1 + random.below(whole.size() / 300)) {
    write_file(broken, whole.substr(0, length));
    EXPECT_FALSE(open_and_search()) << length;
  }
  for (int i = 0; i < 500; ++i) {
    std::string damaged = whole;
    for (int j = 0; j < 20; ++j) damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    write_file(broken, damaged);
    open_and_search();
    EXPECT_ANY_THROW(verify_index(broken)) << i;
  }
  write_file(broken, "something else that is long enough to be looked at, surely more than one header's length");
  EXPECT_BDNN_ERROR(Index::open(broken), failure, "does not start with the signature of an index");
}

TEST(Index, UpsertReplacesAndAddsInOneChange) {
  for (const bool tables : {false, true}) {
    const TemporaryDirectory folder;
    const std::string path = folder / "x.index";
    const Codes codes = clustered_codes(40, 900, 0.1, 4);
    const IndexOptions options{.tables = tables ? IndexOptions::Tables::always : IndexOptions::Tables::never};
    std::vector<std::uint64_t> ids(codes.size());
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
    build_index(path, part(codes, 0, 600), {}, options);
    const Index before = Index::open(path);
    // Codes 600 to 899 under ids 450 to 749: half of them replace.
    IndexKeys keys;
    for (std::uint64_t i = 450; i < 750; ++i) keys.ids.push_back(i);
    const IndexChange change = upsert_in_index(path, part(codes, 600, 300), keys, options);
    EXPECT_EQ(change.added, 150U);
    EXPECT_EQ(change.replaced, 150U);
    EXPECT_TRUE(change.warnings.empty());
    std::vector<bool> gone(codes.size(), false);
    for (std::size_t i = 450; i < 600; ++i) gone[i] = true;
    std::vector<std::uint64_t> now = ids;
    for (std::size_t i = 600; i < 900; ++i) now[i] = i - 150;
    const Codes queries = clustered_codes(40, 5, 0.1, 5);
    expect_holds(Index::open(path), codes, now, gone, queries);
    std::vector<bool> not_yet(codes.size(), false);
    std::fill(not_yet.begin() + 600, not_yet.end(), true);
    expect_holds(before, codes, ids, not_yet, queries);
    add_to_index(path, part(codes, 0, 1));  // ids go on after the largest
    EXPECT_EQ(Index::open(path).size(), 751U);
    EXPECT_EQ(remove_from_index(path, {.ids = {750}}).removed, 1U);
    verify_index(path);
  }
  const TemporaryDirectory folder;
  const std::string path = folder / "names.index";
  const Codes codes = clustered_codes(24, 3, 0.2, 1);
  build_index(path, codes, {.names = {"a", "b", "c"}});
  const IndexChange change = upsert_in_index(path, part(codes, 0, 2), {.names = {"c", "d"}});
  EXPECT_EQ(change.added, 1U);
  EXPECT_EQ(change.replaced, 1U);
  EXPECT_BDNN_ERROR(upsert_in_index(path, codes, {}), misuse, "give their ids or names");
  EXPECT_BDNN_ERROR(upsert_in_index(path, part(codes, 0, 2), {.names = {"x", "x"}}), misuse, "given twice");
  EXPECT_EQ(Index::open(path).size(), 4U);
}

TEST(Index, RemovalsSayWhichKeysThereAreAndMayIgnoreMissingOnes) {
  const TemporaryDirectory folder;
  const Codes codes = clustered_codes(24, 3, 0.2, 1);
  build_index(folder / "ids", codes);
  build_index(folder / "names", codes, {.names = {"a", "b", "c"}});
  EXPECT_BDNN_ERROR(remove_from_index(folder / "ids", {.names = {"a"}}), misuse, "the keys of its codes are ids");
  EXPECT_BDNN_ERROR(remove_from_index(folder / "names", {.ids = {1}}), misuse, "the keys of its codes are names");
  const IndexChange change = remove_from_index(folder / "ids", {.ids = {2, 77, 0}}, {.ignore_missing = true});
  EXPECT_EQ(change.removed, 2U);
  EXPECT_EQ(change.missing, 1U);
  const std::string before = read_file(folder / "names");
  EXPECT_EQ(remove_from_index(folder / "names", {.names = {"d"}}, {.ignore_missing = true}).missing, 1U);
  EXPECT_EQ(read_file(folder / "names"), before);
}

TEST(Index, CompactingKeepsTheChoiceOfHashTables) {
  using Tables = IndexOptions::Tables;
  const TemporaryDirectory folder;
  const std::string path = folder / "x.index";
  const Codes codes = clustered_codes(40, 300, 0.1, 1);
  build_index(path, codes, {}, {.tables = Tables::always});
  add_to_index(path, part(codes, 0, 200));
  compact_index(path);
  EXPECT_GT(Index::open(path).info().tables, 0U);
  remove_from_index(path, {.ids = {4}});
  compact_index(path, {.tables = Tables::never});
  EXPECT_EQ(Index::open(path).info().tables, 0U);
  compact_index(path);
  EXPECT_EQ(Index::open(path).info().tables, 0U);
  EXPECT_EQ(Index::open(path).info().tables_choice, Tables::never);
}

// A daily exchange of some codes for others: the file stays within a small multiple of what is in use.
TEST(Index, RemovedCodesCountAsUnusedAndAreCompactedAway) {
  const TemporaryDirectory folder;
  const std::string path = folder / "x.index";
  const std::size_t size = 50'000;
  const std::size_t daily = 1'000;
  const Codes codes = clustered_codes(32, size, 0.3, 1);
  build_index(path, codes, {}, {.tables = IndexOptions::Tables::never});
  const std::uint64_t at_first = Index::open(path).info().bytes;
  remove_from_index(path, {.ids = {0, 1, 2, 3}});
  std::vector<std::uint64_t> half;
  for (std::uint64_t i = 4; i < size / 2; ++i) half.push_back(i);
  remove_from_index(path, {.ids = half});
  EXPECT_GT(Index::open(path).info().unused, size / 2 * 4);
  build_index(path, codes, {}, {.tables = IndexOptions::Tables::never});
  std::uint64_t largest = 0;
  for (std::uint64_t day = 0; day < 50; ++day) {
    IndexKeys gone;
    for (std::uint64_t i = 0; i < daily; ++i) gone.ids.push_back(day * daily + i);
    remove_from_index(path, gone);
    add_to_index(path, part(codes, 0, daily));
    largest = std::max<std::uint64_t>(largest, std::filesystem::file_size(path));
  }
  EXPECT_EQ(Index::open(path).size(), size);
  EXPECT_LT(largest, 4 * at_first);
  verify_index(path);
}

TEST(Index, AWriterThatWaitsSaysSo) {
  const TemporaryDirectory folder;
  const std::string path = folder / "x.index";
  const Codes codes = clustered_codes(24, 10, 0.2, 1);
  build_index(path, codes);
  std::optional<LockedFile> other(std::in_place, path);
  EXPECT_TRUE(is_locked(InputFile(path)));
  int told = 0;
  add_to_index(path, codes, {}, {.waiting = [&] {
                 ++told;
                 other.reset();  // only now the other one ends
               }});
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(is_locked(InputFile(path)));
  remove_from_index(path, {.ids = {3}}, {.waiting = [&] { ++told; }});
  EXPECT_EQ(told, 1) << "nobody else was there";
}

TEST(Index, ReadersAndWritersDoNotDisturbEachOther) {
  const TemporaryDirectory folder;
  const std::string path = folder / "x.index";
  const Codes codes = clustered_codes(32, 400, 0.1, 1);
  build_index(path, codes);
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      Searcher searcher(1);
      Results results;
      while (!done) {
        const Index index = Index::open(path);
        searcher.search(index, codes, {.k = 1}, results);
        EXPECT_EQ(results[17][0].distance, 0U);
      }
    });
  }
  std::vector<std::thread> writers;
  for (int w = 0; w < 2; ++w) {
    writers.emplace_back([&] {
      for (int i = 0; i < 10; ++i) add_to_index(path, part(codes, 0, 30));
      compact_index(path);
    });
  }
  for (auto& writer : writers) writer.join();
  done = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(Index::open(path).size(), 400U + 2 * 10 * 30);
  verify_index(path);
}

}  // namespace
}  // namespace bdnn
