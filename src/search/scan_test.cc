#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "bdnn/search.h"
#include "expect_error.h"

namespace bdnn {
namespace {

// Few distinct codes, so that ties abound.
Codes clustered_codes(std::size_t bits, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  const std::size_t bytes = (bits + 7) / 8;
  std::vector<std::uint8_t> data(bytes * count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t cluster = random.below(4);
    for (std::size_t b = 0; b < bits; ++b) {
      const bool bit = ((cluster >> b % 2) & 1) != (random.below(8) == 0);
      data[i * bytes + b / 8] |= static_cast<std::uint8_t>(static_cast<unsigned>(bit) << b % 8);
    }
  }
  return {bits, count, std::move(data)};
}

std::vector<Neighbour> naive_order(const Codes& database, std::span<const std::uint8_t> query) {
  std::vector<Neighbour> all;
  for (std::size_t i = 0; i < database.size(); ++i) {
    std::uint32_t distance = 0;
    for (std::size_t b = 0; b < database.bits(); ++b) {
      distance += static_cast<std::uint32_t>(((database[i][b / 8] ^ query[b / 8]) >> b % 8) & 1);
    }
    all.push_back({i, distance});
  }
  std::sort(all.begin(), all.end(), [](const Neighbour& a, const Neighbour& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
  });
  return all;
}

RC_GTEST_PROP(SearchProperty, EqualsASortOfAllDistances, ()) {
  const auto bits = static_cast<std::size_t>(*rc::gen::inRange(1, 140));
  const auto count = static_cast<std::size_t>(*rc::gen::inRange(1, 6000));
  const auto k = static_cast<std::size_t>(*rc::gen::inRange(1, 200));
  const auto radius = static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(bits) + 2));
  const Codes database = clustered_codes(bits, count, 1);
  const Codes queries = clustered_codes(bits, 3, 2);
  const auto nearest = search(database, queries, {.k = k, .radius = {}, .threads = 2});
  const auto within = search(database, queries, {.k = k, .radius = radius, .threads = 1});
  for (std::size_t q = 0; q < queries.size(); ++q) {
    auto expected = naive_order(database, queries[q]);
    auto in_radius = expected;
    std::erase_if(in_radius, [&](const Neighbour& n) { return n.distance > radius; });
    expected.resize(std::min(k, expected.size()));
    RC_ASSERT(nearest[q] == expected);
    RC_ASSERT(within[q] == in_radius);
  }
}

TEST(Search, FewerThanKIsAShorterList) {
  const Codes database = clustered_codes(16, 3, 3);
  EXPECT_EQ(search(database, database, {.k = 10}).front().size(), 3U);
  EXPECT_TRUE(search(Codes(16, 0, std::vector<std::uint8_t>()), database, {.k = 10}).front().empty());
}

TEST(Search, WhatCannotBeComparedIsRefused) {
  const Codes a = clustered_codes(16, 3, 4);
  const Codes b = clustered_codes(24, 3, 4);
  EXPECT_BDNN_ERROR(search(a, b), misuse, "the queries have 24 bits, the database has 16");
  EXPECT_BDNN_ERROR(search(a, a, {.k = 0}), misuse, "ask for at least 1");
  const Codes one(8, 1, std::vector<std::uint8_t>{1}, {"aaaa", "itq"});
  const Codes two(8, 1, std::vector<std::uint8_t>{1}, {"bbbb", "itq"});
  EXPECT_BDNN_ERROR(search(one, two), misuse, "encoded by model aaaa, the queries by bbbb");
}

}  // namespace
}  // namespace bdnn
