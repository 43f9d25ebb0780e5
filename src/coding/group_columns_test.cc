// Codes in groups, by their definitions.
#include "coding/group_columns.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <vector>

#include "base/random.h"

namespace bdnn {
namespace {

double bit_of(std::size_t value, std::size_t k) { return (value >> k & 1) != 0 ? 1 : -1; }

// The product of the bits of `value` that are in `subset`.
double product(std::size_t subset, std::size_t value) {
  double all = 1;
  for (std::size_t k = 0; k < 8; ++k) {
    if ((subset >> k & 1) != 0) all *= bit_of(value, k);
  }
  return all;
}

TEST(BitGroups, TransformsAreSumsOverProductsOfBits) {
  Random random(1);
  for (const std::size_t size : {2, 4, 16, 256}) {
    std::vector<double> factors(2 * size);
    for (double& factor : factors) factor = random.normal();
    std::vector<double> sums = factors;
    sums_of_values(sums.data(), size, 2);
    std::vector<double> subsets = factors;
    sums_of_subsets(subsets.data(), size, 2);
    for (std::size_t i = 0; i < size; ++i) {
      double of_value = 0;
      double of_subset = 0;
      for (std::size_t j = 0; j < size; ++j) {
        of_value += factors[2 * j] * product(j, i);
        of_subset += factors[2 * j] * product(i, j);
      }
      EXPECT_NEAR(sums[2 * i], of_value, 1e-12 * static_cast<double>(size));
      EXPECT_NEAR(subsets[2 * i], of_subset, 1e-12 * static_cast<double>(size));
      EXPECT_EQ(sums[2 * i + 1], factors[2 * i + 1]);  // what is between the entries stays
    }
  }
}

RC_GTEST_PROP(BitGroups, ValuesAreTheBitsOfACode, ()) {
  const auto bits = *rc::gen::inRange<std::size_t>(1, 140);
  const BitGroups groups(bits, *rc::gen::element<std::size_t>(1, 4, 8));
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<std::uint8_t> code((bits + 7) / 8);
  for (std::size_t k = 0; k < bits; ++k)
    code[k / 8] = static_cast<std::uint8_t>(code[k / 8] | random.below(2) << k % 8);
  std::vector<std::uint8_t> copy(code.size(), std::uint8_t{0xFF});
  if (bits % 8 != 0) copy.back() = static_cast<std::uint8_t>((1U << bits % 8) - 1);
  std::size_t columns = 0;
  for (std::size_t g = 0; g < groups.count(); ++g) {
    RC_ASSERT(groups.first_column(g) == columns);
    RC_ASSERT(groups.first_feature(g) == columns - g);
    const std::size_t value = groups.value(code.data(), g);
    RC_ASSERT(value < groups.values(g));
    for (std::size_t k = g * groups.group(); k < std::min(bits, (g + 1) * groups.group()); ++k) {
      RC_ASSERT((value >> (k - g * groups.group()) & 1) == (code[k / 8] >> k % 8 & 1U));
    }
    groups.set(copy.data(), g, value);
    columns += groups.values(g);
  }
  RC_ASSERT(copy == code);
  RC_ASSERT(groups.columns() == columns);
  RC_ASSERT(groups.features() == columns - groups.count());
}

TEST(BitGroups, BitsBeyondTheLastDoNotCount) {
  const BitGroups groups(9, 8);
  const std::array<std::uint8_t, 2> code{0x12, 0xFF};
  EXPECT_EQ(groups.value(code.data(), 0), 0x12U);
  EXPECT_EQ(groups.value(code.data(), 1), 1U);
}

TEST(BitGroups, ColumnsAreWhatTheFeaturesOfAValueAddUpTo) {
  Random random(2);
  for (const auto& [bits, group] : {std::pair{9, 4}, {8, 8}, {13, 8}, {5, 1}}) {
    const BitGroups groups(static_cast<std::size_t>(bits), static_cast<std::size_t>(group));
    MatrixXf weight(3, groups.features());
    for (float& entry : weight.reshaped()) entry = static_cast<float>(random.normal());
    const MatrixXf columns = columns_of_values(weight, groups);
    std::vector<float> p(static_cast<std::size_t>(2 * bits));
    for (float& entry : p) entry = static_cast<float>(random.normal());
    std::vector<float> q(2 * groups.columns(), 1.0F);
    add_bit_sums(groups, p.data(), 2, q.data());
    for (std::size_t g = 0; g < groups.count(); ++g) {
      for (std::size_t v = 0; v < groups.values(g); ++v) {
        VectorXd expected = VectorXd::Zero(3);
        for (std::size_t s = 1; s < groups.values(g); ++s) {
          expected +=
              product(s, v) * weight.col(static_cast<Eigen::Index>(groups.first_feature(g) + s - 1)).cast<double>();
        }
        const std::size_t column = groups.first_column(g) + v;
        EXPECT_LT((columns.col(static_cast<Eigen::Index>(column)).cast<double>() - expected).norm(), 1e-4);
        for (std::size_t i = 0; i < 2; ++i) {
          double sum = 1;
          for (std::size_t k = 0; std::size_t{1} << k < groups.values(g); ++k) {
            sum += bit_of(v, k) * static_cast<double>(p[i * groups.bits() + g * groups.group() + k]);
          }
          EXPECT_NEAR(q[i * groups.columns() + column], sum, 1e-5);
        }
      }
    }
  }
}

}  // namespace
}  // namespace bdnn
