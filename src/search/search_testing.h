// Codes to search, and the search that all others must equal.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "base/random.h"
#include "bdnn/search.h"

namespace bdnn::testing {

// Each bit is one of few patterns, flipped with that probability: 0.5 gives random codes, 0 nothing but duplicates.
inline Codes clustered_codes(std::size_t bits, std::size_t count, double flip, std::uint64_t seed) {
  Random random(seed);
  const std::size_t bytes = (bits + 7) / 8;
  std::vector<std::uint8_t> data(bytes * count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t cluster = random.below(4);
    for (std::size_t b = 0; b < bits; ++b) {
      const bool bit = ((cluster >> b % 2) & 1) != (random.uniform() < flip);
      data[i * bytes + b / 8] |= static_cast<std::uint8_t>(static_cast<unsigned>(bit) << b % 8);
    }
  }
  return {bits, count, std::move(data)};
}

// All distances bit by bit, sorted; ids are those that ids(position) gives, and only what `allowed` lets through.
inline std::vector<Neighbour> naive_order(
    const Codes& database, std::span<const std::uint8_t> query,
    const std::function<std::uint64_t(std::size_t)>& ids = [](std::size_t i) { return i; },
    const std::function<bool(std::size_t)>& allowed = [](std::size_t) { return true; }) {
  std::vector<Neighbour> all;
  for (std::size_t i = 0; i < database.size(); ++i) {
    if (!allowed(i)) continue;
    std::uint32_t distance = 0;
    for (std::size_t b = 0; b < database.bits(); ++b) {
      distance += static_cast<std::uint32_t>(((database[i][b / 8] ^ query[b / 8]) >> b % 8) & 1);
    }
    all.push_back({ids(i), distance});
  }
  std::sort(all.begin(), all.end(), [](const Neighbour& a, const Neighbour& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.id < b.id;
  });
  return all;
}

// Of a naive order, what a search would return.
inline std::vector<Neighbour> naive_answer(std::vector<Neighbour> order, const SearchOptions& options) {
  if (options.radius) {
    std::erase_if(order, [&](const Neighbour& n) { return n.distance > *options.radius; });
  } else {
    order.resize(std::min(options.k, order.size()));
  }
  return order;
}

}  // namespace bdnn::testing
