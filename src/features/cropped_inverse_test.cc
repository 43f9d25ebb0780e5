#include "features/cropped_inverse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "base/random.h"

namespace bdnn {
namespace {

TEST(CroppedInverse, EqualsTheSumForEveryRadix) {
  Random random(1);
  for (const std::size_t n : {1U, 7U, 12U, 24U, 30U}) {
    for (std::size_t radix = 1; radix <= n; ++radix) {
      if (n % radix != 0) continue;
      const std::size_t first = random.below(n);
      const std::size_t count = 1 + random.below(n - first);
      const CroppedInverse inverse(n, first, count, radix);
      constexpr std::size_t kColumns = 3;
      std::vector<std::complex<double>> c(n * kColumns);
      std::vector<float> columns(2 * n * kColumns);
      for (std::size_t i = 0; i < c.size(); ++i) {
        const auto real = static_cast<float>(random.normal());
        const auto imaginary = static_cast<float>(random.normal());
        c[i] = {real, imaginary};
        const std::size_t at = i / n * 2 * n + inverse.position(i % n);
        columns[at] = real;
        columns[at + inverse.imaginary()] = imaginary;
      }
      std::vector<float> scratch;
      std::vector<float> out(2 * count * kColumns);
      inverse.run(columns.data(), kColumns, scratch, out.data());
      for (std::size_t column = 0; column < kColumns; ++column) {
        for (std::size_t p = 0; p < count; ++p) {
          std::complex<double> right = 0;
          for (std::size_t k = 0; k < n; ++k) {
            const double angle = 2 * std::numbers::pi * double(k * (first + p)) / double(n);
            right += c[column * n + k] * std::polar(1 / double(n), angle);
          }
          EXPECT_NEAR(out[column * 2 * count + p], right.real(), 1e-6) << n << " by " << radix;
          EXPECT_NEAR(out[column * 2 * count + count + p], right.imag(), 1e-6) << n << " by " << radix;
        }
      }
    }
  }
}

TEST(CroppedInverse, LongTransformsAreTakenApart) {
  EXPECT_EQ(CroppedInverse(96, 32, 32).radix(), 1U);
  EXPECT_GT(CroppedInverse(320, 32, 256).radix(), 1U);
  EXPECT_EQ(CroppedInverse(97, 0, 97).radix(), 1U);  // a prime
}

}  // namespace
}  // namespace bdnn
