// Runs under ThreadSanitizer: blocks of codes are counted on several threads.
#include "bdnn/diagnostics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "bdnn/methods.h"
#include "expect_error.h"

namespace bdnn {
namespace {

Codes codes_of(std::size_t bits, const std::vector<std::vector<int>>& rows) {
  const std::size_t bytes = (bits + 7) / 8;
  std::vector<std::uint8_t> data(bytes * rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t b = 0; b < bits; ++b) data[i * bytes + b / 8] |= static_cast<std::uint8_t>(rows[i][b] << b % 8);
  }
  return {bits, rows.size(), std::move(data)};
}

TEST(Diagnostics, ByHand) {
  // Bit 1 follows bit 0, bit 2 is constant, bit 3 is independent of bit 0.
  const auto found = diagnose_codes(codes_of(4, {{0, 0, 1, 0},
                                                 {0, 0, 1, 1},
                                                 {1, 1, 1, 0},
                                                 {1, 1, 1, 1},
                                                 {1, 1, 1, 1},
                                                 {0, 0, 1, 1},
                                                 {1, 1, 1, 0},
                                                 {0, 0, 1, 0}}));
  EXPECT_EQ(found.balance, (std::vector<double>{0.5, 0.5, 1.0, 0.5}));
  EXPECT_EQ(found.largest_imbalance, 0.5);
  EXPECT_DOUBLE_EQ(found.largest_correlation, 1);
  EXPECT_EQ(found.largest_pair[0], 0U);
  EXPECT_EQ(found.largest_pair[1], 1U);
  EXPECT_DOUBLE_EQ(found.mean_correlation, 1.0 / 6);
  EXPECT_EQ(found.distinct, 4U);
  EXPECT_EQ(found.duplicates, 4U);
  EXPECT_DOUBLE_EQ(found.entropy, 2);      // four codes, equally often
  EXPECT_DOUBLE_EQ(found.bit_entropy, 3);  // three balanced bits
  // Each code has one twin, two at distance 1 (bit 3), two at 2 (bits 0 and 1) and two at 3.
  EXPECT_DOUBLE_EQ(found.distances[0], 1.0 / 7);
  EXPECT_DOUBLE_EQ(found.distances[1], 2.0 / 7);
  EXPECT_DOUBLE_EQ(found.distances[2], 2.0 / 7);
  EXPECT_DOUBLE_EQ(found.distances[3], 2.0 / 7);
  EXPECT_DOUBLE_EQ(found.mean_distance, 12.0 / 7);
  EXPECT_EQ(correlation_map(found), "@@  \n@@  \n  @ \n   @\n");
}

RC_GTEST_PROP(DiagnosticsProperty, EqualTheNaiveMeasures, ()) {
  const auto bits = static_cast<std::size_t>(*rc::gen::inRange(1, 30));
  const auto count = static_cast<std::size_t>(*rc::gen::inRange(1, 400));
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<std::vector<int>> rows(count, std::vector<int>(bits));
  for (auto& row : rows) {
    for (std::size_t b = 0; b < bits; ++b)
      row[b] = b > 0 && random.below(3) > 0 ? row[b - 1] : static_cast<int>(random.below(2));
  }
  const auto found = diagnose_codes(codes_of(bits, rows), 2);
  std::map<std::vector<int>, int> kinds;
  for (const auto& row : rows) ++kinds[row];
  double entropy = 0;
  for (const auto& [row, n] : kinds) {
    const double share = n / static_cast<double>(count);
    entropy -= share * std::log2(share);
  }
  RC_ASSERT(found.distinct == kinds.size());
  RC_ASSERT(std::abs(found.entropy - entropy) < 1e-9);
  const auto mean = [&](std::size_t b) {
    double sum = 0;
    for (const auto& row : rows) sum += row[b];
    return sum / static_cast<double>(count);
  };
  for (std::size_t i = 0; i < bits; ++i) {
    RC_ASSERT(std::abs(found.balance[i] - mean(i)) < 1e-12);
    for (std::size_t j = 0; j < i; ++j) {
      double covariance = 0;
      for (const auto& row : rows) covariance += (row[i] - mean(i)) * (row[j] - mean(j)) / static_cast<double>(count);
      const double spread = std::sqrt(mean(i) * (1 - mean(i)) * mean(j) * (1 - mean(j)));
      const double expected = spread > 0 ? std::abs(covariance) / spread : 0;
      RC_ASSERT(std::abs(found.correlation[i * bits + j] - expected) < 1e-6);
    }
  }
}

TEST(Diagnostics, ManyBitsShareCellsOfTheMap) {
  Random random(1);
  std::vector<std::vector<int>> rows(50, std::vector<int>(100));
  for (auto& row : rows) {
    for (auto& bit : row) bit = static_cast<int>(random.below(2));
  }
  const std::string map = correlation_map(diagnose_codes(codes_of(100, rows)), 32);
  EXPECT_EQ(map.size(), 25U * 26U);  // four bits to a cell
}

TEST(Diagnostics, QuantizationErrorIsZeroForBinaryOutputs) {
  const Layer layer{1, 1, {2.0F}, {0.0F}, Activation::identity};
  const Model model{Network{{layer}}, {}};
  const auto binary = diagnose_quantization(model, Vectors(1, 4, {1, -1, -1, 1}));
  EXPECT_DOUBLE_EQ(binary.mean_magnitude, 2);
  EXPECT_DOUBLE_EQ(binary.error, 0);
  const auto other = diagnose_quantization(model, Vectors(1, 2, {1, -3}));  // |h| is 2 and 6, their mean 4
  EXPECT_DOUBLE_EQ(other.error, 0.25);
  ProductQuantizer quantizer;
  quantizer.projection = {1, 1, {1}, {0}};
  quantizer.parts = {{1, 1, {-1, 1}}};
  EXPECT_BDNN_ERROR(diagnose_quantization(Model{quantizer, {}}, Vectors(1, 2, {1, -3})), misuse,
                    "has no outputs before the sign");
}

TEST(Diagnostics, BadCodesAreWarnedOf) {
  Random random(3);
  std::vector<std::uint8_t> bytes(2 * 500);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
  const CodesDiagnostics good = diagnose_codes({16, 500, bytes});
  EXPECT_TRUE(warnings_of(good, false).empty());
  EXPECT_EQ(summary_of(good), fmt::format("500 codes: {} distinct, no constant bits", good.distinct));
  for (std::size_t i = 0; i < 500; ++i) bytes[2 * i] |= 5;
  bytes[600] &= static_cast<std::uint8_t>(~4U);  // one code differs
  const CodesDiagnostics idle = diagnose_codes({16, 500, bytes});
  EXPECT_NE(summary_of(idle).find(", 1 constant bits"), std::string::npos) << summary_of(idle);
  ASSERT_EQ(warnings_of(idle, false).size(), 1U);
  EXPECT_TRUE(warnings_of(idle, false)[0].starts_with("2 of 16 bits are the same for at least 99%"));
  for (std::size_t i = 0; i < 500; ++i) bytes[2 * i] = bytes[2 * i + 1] = i % 2 == 0 ? 0 : 255;
  const CodesDiagnostics two = diagnose_codes({16, 500, bytes});
  ASSERT_EQ(warnings_of(two, false).size(), 1U);
  EXPECT_TRUE(warnings_of(two, false)[0].starts_with("the codes carry 1.0 bits of information, where 9.0"));
  EXPECT_TRUE(warnings_of(two, true).empty()) << "two classes need no more";
  const CodesDiagnostics same = diagnose_codes({16, 500, std::vector<std::uint8_t>(1000, 7)});
  EXPECT_EQ(warnings_of(same, true).size(), 2U);
}

TEST(Diagnostics, NoCodesIsAnError) {
  EXPECT_BDNN_ERROR(diagnose_codes(Codes(8, 0, std::vector<std::uint8_t>())), misuse, "no codes");
}

}  // namespace
}  // namespace bdnn
