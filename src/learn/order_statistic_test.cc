#include "learn/order_statistic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace bdnn {
namespace {

TEST(NthSmallest, EqualsSortingOnNumbersOfEveryKind) {
  Random random(1);
  std::vector<float> scratch;
  for (const std::size_t count : {1, 2, 3, 10, 1000, 4095, 4096, 5000, 30011}) {
    for (int kind = 0; kind < 5; ++kind) {
      std::vector<float> values;
      for (std::size_t i = 0; i < count; ++i) {
        const auto place = static_cast<double>(i);
        switch (kind) {
          case 0: values.push_back(static_cast<float>(random.normal())); break;
          case 1: values.push_back(static_cast<float>(random.below(3))); break;  // ties
          case 2: values.push_back(static_cast<float>(place)); break;            // sorted
          case 3: values.push_back(static_cast<float>(std::exp(5 * random.normal()))); break;
          default:
            values.push_back(i % (count / 1024 + 1) == 0 ? 1e6F : -static_cast<float>(place));  // misleads a sample
        }
      }
      std::vector<float> sorted = values;
      std::sort(sorted.begin(), sorted.end());
      for (const std::size_t rank : {std::size_t{0}, count / 10, (count - 1) / 2, count / 2, count - 1}) {
        ASSERT_EQ(nth_smallest(values.data(), count, rank, scratch), sorted[rank])
            << count << " " << kind << " " << rank;
      }
    }
  }
}

}  // namespace
}  // namespace bdnn
