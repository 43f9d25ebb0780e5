// Faiss as an oracle: the same codes, given to its flat binary index, have the same neighbours at the same distances.
#include <faiss/IndexBinaryFlat.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "bdnn/bdnn.h"

namespace bdnn {
namespace {

Codes random_codes(std::size_t bits, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> data(bits / 8 * count);
  for (auto& byte : data) byte = static_cast<std::uint8_t>(random.below(256));
  return {bits, count, std::move(data)};
}

TEST(FaissPeer, FindsTheSameNeighboursUpToTies) {
  for (const std::size_t bits : {8, 16, 24, 32, 64, 128, 256, 1024}) {
    constexpr std::size_t kQueries = 20;
    constexpr std::size_t kNeighbours = 15;
    const Codes database = random_codes(bits, 3000, bits);
    const Codes queries = random_codes(bits, kQueries, bits + 1);
    faiss::IndexBinaryFlat index(static_cast<faiss::IndexBinary::idx_t>(bits));
    index.add(static_cast<faiss::IndexBinary::idx_t>(database.size()), database.data());
    std::vector<std::int32_t> distances(kQueries * kNeighbours);
    std::vector<faiss::IndexBinary::idx_t> ids(kQueries * kNeighbours);
    index.search(kQueries, queries.data(), kNeighbours, distances.data(), ids.data());

    const auto ours = search(database, queries, {.k = kNeighbours});
    for (std::size_t q = 0; q < kQueries; ++q) {
      const std::uint32_t last = ours[q].back().distance;
      for (std::size_t i = 0; i < kNeighbours; ++i) {
        const std::size_t at = q * kNeighbours + i;
        EXPECT_EQ(ours[q][i].distance, static_cast<std::uint32_t>(distances[at])) << bits << " bits";
        // Nearer than the last, a neighbour cannot be a matter of ties.
        if (ours[q][i].distance == last) continue;
        const auto* row = ids.data() + q * kNeighbours;
        EXPECT_NE(std::find(row, row + kNeighbours, static_cast<faiss::IndexBinary::idx_t>(ours[q][i].id)),
                  row + kNeighbours);
      }
    }
  }
}

TEST(FaissPeer, CodesComeBackFromItsIndex) {
  const Codes codes = random_codes(64, 100, 5);
  faiss::IndexBinaryFlat index(64);
  index.add(100, codes.data());
  std::vector<std::uint8_t> back(8);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    index.reconstruct(static_cast<faiss::IndexBinary::idx_t>(i), back.data());
    EXPECT_TRUE(std::equal(back.begin(), back.end(), codes[i].begin()));
  }
}

}  // namespace
}  // namespace bdnn
