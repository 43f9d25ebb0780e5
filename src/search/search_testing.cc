#include "search/search_testing.h"

#include <algorithm>

#include "base/random.h"

namespace bdnn::testing {

Codes clustered_codes(std::size_t bits, std::size_t count, double flip, std::uint64_t seed) {
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

std::vector<Neighbour> naive_order(const Codes& database, std::span<const std::uint8_t> query,
                                   const std::function<std::uint64_t(std::size_t)>& ids,
                                   const std::function<bool(std::size_t)>& allowed) {
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

std::vector<Neighbour> naive_answer(std::vector<Neighbour> order, const SearchOptions& options) {
  if (options.radius) {
    std::erase_if(order, [&](const Neighbour& n) { return n.distance > *options.radius; });
  } else {
    order.resize(std::min(options.k, order.size()));
  }
  return order;
}

}  // namespace bdnn::testing
