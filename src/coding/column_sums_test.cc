#include "coding/column_sums.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/random.h"
#include "base/simd_target.h"

namespace bdnn {
namespace {

TEST(ColumnSums, AreTheSameChainsOnEveryTarget) {
  Random random(1);
  for (std::size_t trial = 0; trial < 200; ++trial) {
    const std::size_t dimension = 1 + random.below(70);
    const std::size_t count = 1 + random.below(9);
    std::vector<std::vector<float>> columns(count, std::vector<float>(dimension));
    std::vector<const float*> pointers;
    for (auto& column : columns) {
      for (float& entry : column) entry = static_cast<float>(random.normal());
      pointers.push_back(column.data());
    }
    std::array<double, 8> chains{};
    for (std::size_t k = 0; k < dimension; ++k) {
      float sum = 0;
      for (const auto& column : columns) sum += column[k];
      chains[k % 8] += static_cast<double>(sum) * static_cast<double>(sum);
    }
    double expected = 0;
    for (const double chain : chains) expected += chain;
    for (const auto& target : simd_targets()) {
      force_simd_target(target);
      EXPECT_EQ(norm_of_sum(pointers.data(), count, dimension), expected) << target;
    }
    force_simd_target("");
  }
}

}  // namespace
}  // namespace bdnn
