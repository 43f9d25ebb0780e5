// Runs under ThreadSanitizer: tiles are read on several threads, each into its own floats.
#include "data/tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace bdnn {
namespace {

TEST(Tiles, HaveEveryVectorOnceAsFloats) {
  constexpr std::size_t kDimension = 300;
  constexpr std::size_t kCount = 2 * kSamplesPerBlock + 5;
  const auto bytes = std::make_shared<std::vector<std::uint8_t>>(kCount * kDimension);
  std::iota(bytes->begin(), bytes->end(), std::uint8_t{0});
  const std::vector<float> expected(bytes->begin(), bytes->end());
  const Vectors x(Shape{kDimension, kCount, Element::u8}, {bytes, reinterpret_cast<const std::byte*>(bytes->data())});
  for (const int count : {1, 3}) {
    Threads threads(count);
    std::vector<float> seen(expected.size(), -1.0F);
    std::vector<std::size_t> seen_by(static_cast<std::size_t>(threads.count()), 0);
    for_each_tile_of(x, threads, [&](std::size_t first, std::size_t n, const float* floats, std::size_t worker) {
      EXPECT_LE(n, samples_per_tile(kDimension));
      EXPECT_EQ(first % kSamplesPerBlock % samples_per_tile(kDimension), 0U);
      std::copy_n(floats, n * kDimension, seen.data() + first * kDimension);
      seen_by.at(worker) += n;
    });
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(std::accumulate(seen_by.begin(), seen_by.end(), std::size_t{0}), kCount);
  }
}

TEST(Tiles, OfNoVectorsAreNone) {
  Threads threads(2);
  for_each_tile_of(Vectors(3, 0, std::vector<float>()), threads,
                   [](std::size_t, std::size_t, const float*, std::size_t) { FAIL(); });
}

}  // namespace
}  // namespace bdnn
