#include "methods/sh/sh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/random.h"
#include "bdnn/encode.h"
#include "expect_error.h"
#include "learn/affine.h"
#include "linalg/decompose.h"
#include "model/model_file.h"

namespace bdnn {
namespace {

// Uniform in a box with these sides, the first along dimension 0, around `centre`; the corners are among the samples.
Vectors box(const std::vector<double>& sides, std::size_t count, double centre = 0) {
  Random random(5);
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    for (const double side : sides) {
      const double u = i == 0 ? 0 : i == 1 ? 1 : random.uniform();
      values.push_back(static_cast<float>(centre + side * (u - 0.5)));
    }
  }
  return {sides.size(), count, std::move(values)};
}

TEST(SmoothestModes, OfAHandWorkedBox) {
  // Frequencies k / width. Width 4: 1/4, 1/2, 3/4, 1, ...; width 3: 1/3, 2/3, 1, ...; width 1: 1, ...
  const VectorXd widths = Eigen::Vector3d(4, 3, 1);
  const std::vector<SpectralMode> expected = {{0, 1}, {1, 1}, {0, 2}, {1, 2}, {0, 3}, {0, 4}, {1, 3}, {2, 1}};
  EXPECT_EQ(smoothest_modes(widths, 8), expected);
}

TEST(SmoothestModes, AreThoseOfTheAuthorsEnumeration) {
  // The authors list modes up to ceil((L + 1) r_i / max r) along each direction and sort all of them.
  Random random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const auto bits = static_cast<std::size_t>(1 + random.below(40));
    VectorXd widths(static_cast<Eigen::Index>(1 + random.below(bits)));
    for (double& width : widths) width = std::exp(2 * random.normal());
    std::vector<std::pair<double, SpectralMode>> all;
    for (Eigen::Index i = 0; i < widths.size(); ++i) {
      const double most = std::ceil(static_cast<double>(bits + 1) * widths[i] / widths.maxCoeff());
      for (std::size_t k = 1; k < static_cast<std::size_t>(most); ++k) {
        const double omega = static_cast<double>(k) * std::numbers::pi / widths[i];
        all.push_back({omega * omega, {static_cast<std::size_t>(i), k}});
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto modes = smoothest_modes(widths, bits);
    ASSERT_EQ(modes.size(), bits);
    for (std::size_t bit = 0; bit < bits; ++bit) ASSERT_EQ(modes[bit], all[bit].second) << trial << ", " << bit;
  }
}

// The Laplacian of functions on `points` places `step` apart, whose slope is zero at both ends (Neumann).
MatrixXd discrete_laplacian(Eigen::Index points, double step) {
  MatrixXd laplacian = MatrixXd::Zero(points, points);
  for (Eigen::Index i = 0; i < points; ++i) {
    laplacian(i, i) = 2;
    laplacian(i, i == 0 ? 1 : i - 1) -= 1;  // beyond an end stands the mirror image
    laplacian(i, i == points - 1 ? i - 1 : i + 1) -= 1;
  }
  return laplacian / (step * step);
}

// The outputs of a model of a grid are eigenvectors of the grid's own Laplacian, in the order of numeric eigenvalues.
TEST(SmoothestModes, AreEigenvectorsOfADiscreteLaplacian) {
  constexpr Eigen::Index kLong = 41;
  constexpr Eigen::Index kShort = 30;
  constexpr double kStep = 0.1;
  constexpr Eigen::Index kBits = 9;
  std::vector<float> grid;
  for (Eigen::Index j = 0; j < kShort; ++j) {
    for (Eigen::Index i = 0; i < kLong; ++i) {
      grid.push_back(static_cast<float>(kStep * static_cast<double>(i)));
      grid.push_back(static_cast<float>(kStep * static_cast<double>(j)));
    }
  }
  const Vectors x(2, static_cast<std::size_t>(kLong * kShort), std::move(grid));
  const Model model = train(x, {.method = "sh", .bits = kBits});
  Threads threads(1);
  const MatrixXd h = outputs_of(std::get<Network>(model.function), x, threads).cast<double>();

  const MatrixXd along = discrete_laplacian(kLong, kStep);
  const MatrixXd across = discrete_laplacian(kShort, kStep);
  std::vector<double> eigenvalues;  // of functions of one coordinate that are not constant
  for (const MatrixXd& laplacian : {along, across}) {
    // A tridiagonal matrix has the eigenvalues of the symmetric one with the same products across the diagonal.
    MatrixXd symmetric = -laplacian.cwiseProduct(laplacian.transpose()).cwiseSqrt();
    symmetric.diagonal() = laplacian.diagonal();
    const VectorXd values = top_eigenpairs(symmetric, static_cast<std::size_t>(symmetric.rows())).values;
    EXPECT_NEAR(values[values.size() - 1], 0, 1e-9);
    eigenvalues.insert(eigenvalues.end(), values.begin(), values.end() - 1);
  }
  std::sort(eigenvalues.begin(), eigenvalues.end());
  for (Eigen::Index bit = 0; bit < kBits; ++bit) {
    const VectorXd values = h.row(bit);
    const Eigen::Map<const MatrixXd> f(values.data(), kLong, kShort);
    const MatrixXd lf = along * f + f * across.transpose();
    const double expected = eigenvalues[static_cast<std::size_t>(bit)];
    EXPECT_LT((lf - expected * f).norm(), 1e-3 * expected * f.norm()) << bit;
  }
}

TEST(Sh, EqualsTheFormulaAlongTheAxesOfABox) {
  const Vectors x = box({6, 2.5}, 4000, 10);
  const Model model = train(x, {.method = "sh", .bits = 4});
  Threads threads(1);
  const MatrixXf h = outputs_of(std::get<Network>(model.function), x, threads);
  // Widths 6 and 2.5: one, two half periods along the first side, one along the second, three along the first.
  const std::pair<std::size_t, double> modes[] = {{0, 1}, {0, 2}, {1, 1}, {0, 3}};
  const double sides[] = {6, 2.5};
  for (Eigen::Index i = 0; i < h.cols(); ++i) {
    const float* values = x.floats(static_cast<std::size_t>(i), 1, nullptr);
    for (Eigen::Index bit = 0; bit < 4; ++bit) {
      const auto [side, k] = modes[bit];
      const double from_start = static_cast<double>(values[side]) - (10 - sides[side] / 2);
      const double expected = std::cos(k * std::numbers::pi * from_start / sides[side]);
      // Principal directions of finite samples are not quite the axes.
      ASSERT_NEAR(static_cast<double>(h(bit, i)), expected, 0.12) << i << ", " << bit;
    }
  }
}

TEST(Sh, EveryBitSwingsFromOneToItsLastExtremeOverTheRange) {
  // On a line the range is known: the first sample of the direction is at 1, the last at (-1)^k.
  std::vector<float> values;
  for (int i = 0; i <= 100; ++i) values.push_back(static_cast<float>(i));
  const Vectors x(1, 101, std::move(values));
  const Model model = train(x, {.method = "sh", .bits = 7});
  Threads threads(1);
  const MatrixXf h = outputs_of(std::get<Network>(model.function), x, threads);
  for (Eigen::Index bit = 0; bit < 7; ++bit) {
    EXPECT_NEAR(h(bit, 0), 1, 1e-5);
    EXPECT_NEAR(h(bit, 100), bit % 2 == 0 ? -1 : 1, 1e-5);
    int changes = 0;
    for (Eigen::Index i = 1; i <= 100; ++i) changes += (h(bit, i) >= 0) != (h(bit, i - 1) >= 0) ? 1 : 0;
    EXPECT_EQ(changes, bit + 1);
  }
}

TEST(Sh, GivesMoreBitsThanTheDataHasDirections) {
  const Vectors x = box({5, 4, 1}, 500);
  EXPECT_EQ(train(x, {.method = "sh", .bits = 40}).bits(), 40U);
  // Fewer vectors than bits, too.
  EXPECT_EQ(encode(train(box({5, 4, 1}, 3), {.method = "sh", .bits = 16}), x).bits(), 16U);
}

TEST(Sh, NothingIsRandom) {
  const Vectors x = box({5, 4, 1}, 500);
  Model one = train(x, {.method = "sh", .bits = 6, .seed = 1});
  Model two = train(x, {.method = "sh", .bits = 6, .seed = 2});
  one.record = two.record;
  EXPECT_EQ(serialize_model(one), serialize_model(two));
}

TEST(Sh, ShiftingOrScalingTheDataChangesNoCode) {
  const Vectors x = box({5, 4, 1}, 500);
  std::vector<float> moved(x.floats(0, 500, nullptr), x.floats(0, 500, nullptr) + 1500);
  for (float& value : moved) value = 8 * value + 64;
  const Vectors y(3, 500, std::move(moved));
  const Codes a = encode(train(x, {.method = "sh", .bits = 8}), x);
  const Codes b = encode(train(y, {.method = "sh", .bits = 8}), y);
  std::size_t differing = 0;  // those that rounding moves across a zero of a cosine
  for (std::size_t i = 0; i < 500; ++i) differing += hamming_distance(a[i], b[i]);
  EXPECT_LE(differing, 2U);
}

TEST(Sh, RefusesConstantData) {
  EXPECT_BDNN_ERROR(train(Vectors(4, 50, std::vector<float>(200, 7.5F)), {.method = "sh", .bits = 2}), misuse,
                    "all 50 vectors are the same");
  EXPECT_BDNN_ERROR(train(Vectors(4, 1, std::vector<float>(4, 7.5F)), {.method = "sh", .bits = 2}), misuse,
                    "vectors are the same");
}

}  // namespace
}  // namespace bdnn
