// Runs under ThreadSanitizer: parts of the codes go to several threads, which share what they found.
#include "search/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/simd_target.h"
#include "search/gather.h"
#include "search/search_testing.h"
#include "search/segment.h"

namespace bdnn {
namespace {

using testing::clustered_codes;
using testing::naive_answer;
using testing::naive_order;

std::vector<std::vector<Neighbour>> scan_all(const ScanSource& source, const RowFilter& filter, std::size_t k,
                                             std::size_t guess, const Codes& queries, int thread_count) {
  PreparedQueries prepared;
  prepared.assign(queries, 0, queries.size());
  std::vector<std::uint32_t> which(queries.size());
  std::iota(which.begin(), which.end(), 0U);
  Threads threads(thread_count);
  ScanScratch scratch;
  std::vector<Collector> collectors(queries.size());
  scan(source, filter, {k, {}}, guess, prepared, which, threads, scratch, collectors.data());
  std::vector<std::vector<Neighbour>> found(queries.size());
  for (std::size_t q = 0; q < queries.size(); ++q) {
    for (const Hit& hit : collectors[q].finish()) found[q].push_back({hit.row, hit.distance});
  }
  return found;
}

// Codes of four patterns, some of which come only at the beginning or only at the end, so that what the first of them
// say about a guess misleads; and queries that are near to none.
Codes sorted_codes(std::size_t bits, std::size_t count, std::uint64_t seed) {
  const Codes codes = clustered_codes(bits, count, 0.1, seed);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return (codes[a][0] & 15) < (codes[b][0] & 15); });
  std::vector<std::uint8_t> bytes;
  for (const std::size_t i : order) bytes.insert(bytes.end(), codes[i].begin(), codes[i].end());
  return {bits, count, std::move(bytes)};
}

// Slow: every guess, on codes enough for several threads.
TEST(Scan, AGuessChangesNothingWhateverItIs) {
  for (const std::size_t bits : {16, 32, 64, 100}) {
    // Few codes for one part, many for several.
    for (const std::size_t count : {700, 140'000}) {
      const Codes codes = sorted_codes(bits, count, bits);
      const ScanSource source = as_segments(codes).front().codes;
      const RowFilter all{count, nullptr, nullptr};
      const Codes near = clustered_codes(bits, 5, 0.1, 7);
      const Codes far = clustered_codes(bits, 5, 0.5, 8);
      for (const Codes* queries : {&near, &far}) {
        const auto expected = scan_all(source, all, 40, bits, *queries, 1);
        EXPECT_EQ(expected.front(), naive_answer(naive_order(codes, (*queries)[0]), {.k = 40}));
        for (std::size_t guess = 0; guess <= bits; guess += guess < 12 ? 1 : 9) {
          for (const int threads : {1, 2, 3}) {
            EXPECT_EQ(scan_all(source, all, 40, guess, *queries, threads), expected)
                << bits << " bits, " << count << " codes, guess " << guess << ", " << threads << " threads";
          }
        }
      }
    }
  }
}

// One query goes across pages; a threshold that is far, or near, or shrinks on the way takes other turns.
TEST(Scan, OneQueryAmongManyCodesOnEveryTarget) {
  for (const std::string& target : simd_targets()) {
    force_simd_target(target);
    for (const std::size_t bits : {8, 16, 24, 32, 64, 96, 128, 200, 256, 1100}) {
      const std::size_t count = 4'000'000 / bits / 2;  // several stretches of pages, and a rest
      const Codes codes = clustered_codes(bits, count, 0.3, bits);
      const Codes query = clustered_codes(bits, 1, 0.3, bits + 1);
      const auto order = naive_order(codes, query[0]);
      const ScanSource source = as_segments(codes).front().codes;
      for (const std::size_t k : {1, 10, 300}) {
        const auto found = scan_all(source, {count, nullptr, nullptr}, k, bits, query, 1);
        EXPECT_EQ(found.front(), naive_answer(order, {.k = k})) << bits << " bits, k " << k << ", " << target;
      }
    }
  }
  force_simd_target("");
}

// Queries go four at a time, and the rest one by one. 992, 1,100 and 4,096 bits: counts of up to 31 lanes fit bytes.
TEST(Scan, SeveralQueriesOnEveryTarget) {
  const std::vector<std::string> targets = simd_targets();
  for (const std::size_t bits : {8, 16, 24, 32, 40, 64, 96, 128, 192, 256, 992, 1100, 4096}) {
    const std::size_t count = 500 + 40'000 / bits;
    const Codes codes = clustered_codes(bits, count, 0.3, bits);
    const Codes queries = clustered_codes(bits, 6, 0.3, bits + 1);
    const ScanSource source = as_segments(codes).front().codes;
    std::vector<std::vector<Neighbour>> expected;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      expected.push_back(naive_answer(naive_order(codes, queries[q]), {.k = 20}));
    }
    for (const std::string& target : targets) {
      force_simd_target(target);
      EXPECT_EQ(scan_all(source, {count, nullptr, nullptr}, 20, bits, queries, 1), expected)
          << bits << " bits, " << target;
    }
    force_simd_target("");
  }
}

// Many queries at once are scanned by lookup tables: 32 of them, then the rest. Among the codes are the opposite of the
// first query and one next to it, whose distances no byte holds at 256 bits.
TEST(Scan, ManyQueriesOnEveryTarget) {
  constexpr std::size_t kCount = 4500;  // enough for lookup tables to be made
  for (const std::size_t bits : {8, 16, 32, 96, 256, 264}) {
    const Codes queries = clustered_codes(bits, 59, 0.3, bits + 1);
    const Codes some = clustered_codes(bits, kCount, 0.3, bits);
    std::vector<std::uint8_t> bytes(some.data(), some.data() + kCount * some.bytes_per_code());
    for (const std::size_t i : {std::size_t{70}, std::size_t{4000}}) {
      for (std::size_t byte = 0; byte < bits / 8; ++byte) {
        bytes[i * bits / 8 + byte] = static_cast<std::uint8_t>(~queries[0][byte]);
      }
    }
    bytes[70 * bits / 8] ^= 1U;
    const Codes codes(bits, kCount, std::move(bytes));
    const ScanSource source = as_segments(codes).front().codes;
    std::vector<std::vector<Neighbour>> orders;
    for (std::size_t q = 0; q < queries.size(); q += 4) orders.push_back(naive_order(codes, queries[q]));
    for (const std::string& target : simd_targets()) {
      force_simd_target(target);
      for (const std::size_t k : {std::size_t{20}, kCount}) {
        const auto found = scan_all(source, {kCount, nullptr, nullptr}, k, bits, queries, 1);
        for (std::size_t q = 0; q < queries.size(); q += 4) {
          ASSERT_EQ(found[q], naive_answer(orders[q / 4], {.k = k})) << bits << " bits, k " << k << ", " << target;
        }
      }
    }
    force_simd_target("");
  }
}

TEST(Scan, GatheredCodesAreThoseOfTheFilter) {
  for (const std::size_t bits : {3, 8, 16, 20, 32, 64, 96, 100, 128, 300}) {
    const CodeLayout layout(bits);
    constexpr std::size_t kCount = 1000;
    const Codes codes = clustered_codes(bits, kCount, 0.3, bits);
    std::vector<std::uint8_t> tiles(layout.bytes(kCount));
    interleave(layout, codes.data(), kCount, tiles.data());
    std::vector<std::uint64_t> live((kCount + 63) / 64, ~std::uint64_t{0});  // also beyond the last row
    std::vector<std::uint64_t> allowed(live.size());
    live[0] = ~std::uint64_t{2};
    for (const std::size_t row : {0, 1, 5, 64, 500, 998, 999}) allowed[row / 64] |= std::uint64_t{1} << row % 64;
    GatheredCodes gathered;
    gather({layout, kCount, tiles.data(), nullptr}, {kCount, live.data(), allowed.data()}, gathered);
    EXPECT_EQ(gathered.rows, (std::vector<std::uint32_t>{0, 5, 64, 500, 998, 999}));
    ASSERT_EQ(gathered.tiles.size(), layout.bytes(gathered.rows.size()));
    std::vector<std::uint8_t> code(layout.bytes_per_code());
    for (std::size_t i = 0; i < gathered.rows.size(); ++i) {
      deinterleave(layout, gathered.tiles.data(), i, code.data());
      EXPECT_TRUE(std::equal(code.begin(), code.end(), codes[gathered.rows[i]].begin())) << bits << " bits";
    }
  }
}

}  // namespace
}  // namespace bdnn
