#include "linalg/product.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "base/simd_target.h"

namespace bdnn {
namespace {

template <class T>
std::vector<T> random_values(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> values(n);
  for (auto& value : values) value = static_cast<T>(random.normal());
  return values;
}

template <class T>
constexpr double kTolerance = std::is_same_v<T, float> ? 1e-5 : 1e-13;

// Every test below runs on every target that this machine has.
class Product : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_target(GetParam()); }
  void TearDown() override { force_simd_target(""); }
};

template <class T>
void expect_multiply_is_right(std::size_t rows, std::size_t depth, std::size_t columns, std::size_t gap) {
  const std::size_t b_stride = depth + gap;
  const std::size_t c_stride = rows + gap;
  const auto a = random_values<T>(rows * depth, 1);
  const auto b = random_values<T>(b_stride * columns, 2);
  std::vector<T> c(c_stride * columns, T{-7});
  multiply(PackedMatrix<T>::from_rows(a.data(), rows, depth, depth), b.data(), columns, b_stride, c.data(), c_stride);
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t i = 0; i < c_stride; ++i) {
      if (i >= rows) {
        ASSERT_EQ(c[j * c_stride + i], T{-7}) << "written outside";
        continue;
      }
      double sum = 0;
      for (std::size_t k = 0; k < depth; ++k) {
        sum += static_cast<double>(a[i * depth + k]) * static_cast<double>(b[j * b_stride + k]);
      }
      ASSERT_NEAR(c[j * c_stride + i], sum, kTolerance<T> * static_cast<double>(depth + 1))
          << rows << " x " << depth << " x " << columns << " at " << i << ", " << j;
    }
  }
}

template <class T>
void expect_sum_over_samples_is_right(std::size_t rows, std::size_t columns, std::size_t samples) {
  const auto a = random_values<T>(rows * samples, 3);
  const auto b = random_values<T>(columns * samples, 4);
  auto c = random_values<T>(rows * columns, 5);
  const auto before = c;
  add_product_transposed(a.data(), rows, rows, b.data(), columns, columns, samples, c.data(), rows);
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t i = 0; i < rows; ++i) {
      double sum = static_cast<double>(before[j * rows + i]);
      for (std::size_t k = 0; k < samples; ++k) {
        sum += static_cast<double>(a[k * rows + i]) * static_cast<double>(b[k * columns + j]);
      }
      ASSERT_NEAR(c[j * rows + i], sum, kTolerance<T> * static_cast<double>(samples + 1));
    }
  }
}

TEST_P(Product, EqualsTheNaiveProductAtTheEdgesOfTiles) {
  for (const std::size_t rows : {1, 3, 8, 16, 31, 32, 33, 70}) {
    for (const std::size_t columns : {1, 5, 6, 7, 13, 14, 15, 29}) {
      expect_multiply_is_right<float>(rows, 19, columns, 0);
      expect_multiply_is_right<double>(rows, 19, columns, 3);
      expect_sum_over_samples_is_right<float>(rows, columns, 23);
      expect_sum_over_samples_is_right<double>(rows, columns, 300);
    }
  }
}

TEST_P(Product, SumsOverSamplesAreRightWhereColumnsAreMany) {
  for (const std::size_t columns : {127, 128, 129, 144, 150, 300}) {
    expect_sum_over_samples_is_right<float>(37, columns, 261);
    expect_sum_over_samples_is_right<double>(9, columns, 30);
  }
}

RC_GTEST_PROP(ProductProperty, EqualsTheNaiveProductOnRandomShapes, ()) {
  const auto size = [](std::size_t most) { return rc::gen::inRange<std::size_t>(1, most); };
  expect_multiply_is_right<float>(*size(100), *size(300), *size(60), *rc::gen::inRange<std::size_t>(0, 5));
  expect_sum_over_samples_is_right<float>(*size(80), *size(80), *size(600));
  RC_ASSERT(!::testing::Test::HasFatalFailure());
}

TEST_P(Product, ASampleGetsTheSameBitsAtAnyPlace) {
  constexpr std::size_t kRows = 37;
  constexpr std::size_t kDepth = 500;
  constexpr std::size_t kColumns = 45;
  const auto a = random_values<float>(kRows * kDepth, 6);
  const auto b = random_values<float>(kDepth * kColumns, 7);
  const auto packed = PackedMatrix<float>::from_rows(a.data(), kRows, kDepth, kDepth);
  std::vector<float> all(kRows * kColumns);
  multiply(packed, b.data(), kColumns, kDepth, all.data(), kRows);
  for (std::size_t first = 0; first < kColumns; ++first) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{4}, kColumns - first}) {
      if (first + n > kColumns) continue;
      std::vector<float> some(kRows * n);
      multiply(packed, b.data() + first * kDepth, n, kDepth, some.data(), kRows);
      ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin() + static_cast<std::ptrdiff_t>(first * kRows)));
    }
  }
}

TEST_P(Product, SumsGoOnWhereTheyStopped) {
  constexpr std::size_t kRows = 20;
  constexpr std::size_t kColumns = 33;
  constexpr std::size_t kSamples = 700;
  const auto a = random_values<float>(kRows * kSamples, 8);
  const auto b = random_values<float>(kColumns * kSamples, 9);
  std::vector<float> at_once(kRows * kColumns);
  std::vector<float> in_parts(kRows * kColumns);
  add_product_transposed(a.data(), kRows, kRows, b.data(), kColumns, kColumns, kSamples, at_once.data(), kRows);
  for (std::size_t i = 0; i < kSamples; i += 77) {
    add_product_transposed(&a[i * kRows], kRows, kRows, &b[i * kColumns], kColumns, kColumns,
                           std::min<std::size_t>(77, kSamples - i), in_parts.data(), kRows);
  }
  EXPECT_EQ(at_once, in_parts);
}

TEST_P(Product, GramIsTheLowerTriangle) {
  for (const std::size_t dimension : {1, 5, 31, 32, 33, 100}) {
    constexpr std::size_t kSamples = 270;
    const auto x = random_values<float>(dimension * kSamples, 10);
    std::vector<float> lower(dimension * dimension);
    std::vector<float> whole(dimension * dimension);
    add_gram_lower(x.data(), dimension, dimension, kSamples, lower.data(), dimension);
    add_product_transposed(x.data(), dimension, dimension, x.data(), dimension, dimension, kSamples, whole.data(),
                           dimension);
    for (std::size_t j = 0; j < dimension; ++j) {
      for (std::size_t i = j; i < dimension; ++i) ASSERT_EQ(lower[j * dimension + i], whole[j * dimension + i]);
    }
  }
}

TEST_P(Product, BothLayoutsOfTheLeftFactorArePackedAlike) {
  const auto rows = random_values<float>(7 * 11, 11);
  std::vector<float> columns(7 * 11);
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t k = 0; k < 11; ++k) columns[k * 7 + i] = rows[i * 11 + k];
  }
  const auto x = random_values<float>(11 * 3, 12);
  std::vector<float> a(7 * 3);
  std::vector<float> b(7 * 3);
  multiply(PackedMatrix<float>::from_rows(rows.data(), 7, 11, 11), x.data(), 3, 11, a.data(), 7);
  multiply(PackedMatrix<float>::from_columns(columns.data(), 7, 11, 7), x.data(), 3, 11, b.data(), 7);
  EXPECT_EQ(a, b);
}

INSTANTIATE_TEST_SUITE_P(Targets, Product, ::testing::ValuesIn(simd_targets()),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace bdnn
