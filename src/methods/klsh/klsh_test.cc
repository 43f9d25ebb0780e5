#include "methods/klsh/klsh.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/random.h"
#include "bdnn/encode.h"
#include "expect_error.h"
#include "linalg/decompose.h"
#include "methods/samples_testing.h"
#include "model/hash_function.h"

namespace bdnn {
namespace {

using testing::gaussian;

// exp(-gamma ||x - y||^2) by definition.
double gaussian_of(const float* x, const float* y, std::size_t dimension, double gamma) {
  double sum = 0;
  for (std::size_t d = 0; d < dimension; ++d) {
    const double difference = static_cast<double>(x[d]) - static_cast<double>(y[d]);
    sum += difference * difference;
  }
  return std::exp(-gamma * sum);
}

MatrixXd kernel_of(const Vectors& x, const Vectors& y, double gamma) {
  MatrixXd kernel(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < y.size(); ++j) {
      kernel(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          gaussian_of(x.floats(i, 1, nullptr), y.floats(j, 1, nullptr), x.dimension(), gamma);
    }
  }
  return kernel;
}

// H K H, where H = I - (1/p) 1 1^T.
MatrixXd centred(const MatrixXd& kernel) {
  const Eigen::Index p = kernel.rows();
  const MatrixXd h = MatrixXd::Identity(p, p) - MatrixXd::Constant(p, p, 1 / static_cast<double>(p));
  return small_product(small_product(h, kernel), h);
}

TEST(KlshWeights, SquareToTheInverseOfTheCentredKernel) {
  // With every anchor a subset of its own, each bit is a column of sqrt(p - 1) K_c^(-1/2): K_c times the square of
  // that root is the projection off the constant.
  const Vectors anchors = gaussian(8, 12, 4);
  const MatrixXd kernel = kernel_of(anchors, anchors, 0.1);
  const MatrixXd kc = centred(kernel);
  const MatrixXd w = klsh_weights(kernel, 500, 1, 1);  // every anchor is drawn many times
  MatrixXd root = MatrixXd::Zero(12, 12);
  for (Eigen::Index bit = 0; bit < w.rows(); ++bit) {
    // The diagonal of the root is its largest entry of a row here, which tells what anchor was drawn.
    Eigen::Index anchor = 0;
    w.row(bit).maxCoeff(&anchor);
    root.col(anchor) = w.row(bit).transpose() / std::sqrt(11.0);
  }
  EXPECT_TRUE(root.isApprox(root.transpose(), 1e-9));
  const MatrixXd projection = small_product(kc, small_product(root, root));
  EXPECT_TRUE(projection.isApprox(centred(MatrixXd::Identity(12, 12)), 1e-7)) << projection;
}

TEST(KlshWeights, AreSumsOfTheRootOverRandomSubsets) {
  const Vectors anchors = gaussian(8, 12, 4);
  const MatrixXd kernel = kernel_of(anchors, anchors, 0.1);
  const MatrixXd w = klsh_weights(kernel, 40, 5, 7);
  EXPECT_LT((w.rowwise().sum()).cwiseAbs().maxCoeff(), 1e-9);
  // K_c^(1/2) w is sqrt((p - 1) / t) times e_S less its mean, t / p.
  const Eigenpairs pairs = top_eigenpairs(centred(kernel), 11);
  const VectorXd roots = pairs.values.cwiseSqrt();
  const MatrixXd root = small_product(pairs.vectors * roots.asDiagonal(), pairs.vectors.transpose());
  const MatrixXd drawn = small_product(w, root) / std::sqrt(11.0 / 5);
  for (Eigen::Index bit = 0; bit < 40; ++bit) {
    int in = 0;
    for (Eigen::Index anchor = 0; anchor < 12; ++anchor) {
      const double value = drawn(bit, anchor) + 5.0 / 12;
      ASSERT_NEAR(std::min(std::abs(value), std::abs(value - 1)), 0, 1e-7) << bit << ", " << anchor;
      in += value > 0.5 ? 1 : 0;
    }
    ASSERT_EQ(in, 5);
  }
}

TEST(Klsh, OutputsAreThoseOfTheKernelCentredAsTheAnchorsAre) {
  const Vectors x = gaussian(6, 200, 4, 20);
  const Model model = train(x, {.method = "klsh", .bits = 5, .seed = 3, .set = {{"anchors", "40"}, {"subset", "10"}}});
  const auto& function = std::get<AnchorNetwork>(model.function);
  const Vectors anchors(6, 40, function.anchors);
  const auto gamma = static_cast<double>(function.gamma);
  const MatrixXd among = kernel_of(anchors, anchors, gamma);
  const MatrixXd to = kernel_of(x, anchors, gamma);
  const MatrixXd w = klsh_weights(among, 5, 10, 3);
  MatrixXf h(5, 200);
  Threads threads(1);
  outputs_of(HashEncoder(model.function), x, threads, h.data());
  for (Eigen::Index i = 0; i < 200; ++i) {
    for (Eigen::Index bit = 0; bit < 5; ++bit) {
      // k(x, a_j) less its mean over j, less the mean of k(a_i, a_j) over i, plus the mean of all.
      double expected = 0;
      for (Eigen::Index j = 0; j < 40; ++j) {
        expected += w(bit, j) * (to(i, j) - to.row(i).mean() - among.col(j).mean() + among.mean());
      }
      ASSERT_NEAR(static_cast<double>(h(bit, i)), expected, 1e-3 * (1 + std::abs(expected))) << i << ", " << bit;
    }
  }
}

TEST(Klsh, TheShareOfDifferingBitsIsTheAngleInTheKernelsSpace) {
  // Every sample is an anchor, so the angles are exact; a wide kernel makes each output a sum of many terms, hence
  // normal.
  const Vectors x = gaussian(10, 60, 4);
  const Model model = train(
      x,
      {.method = "klsh", .bits = 4096, .set = {{"anchors", "60"}, {"subset", "30"}, {"width", "4"}}, .decoder = false});
  const MatrixXd kc = centred(kernel_of(x, x, static_cast<double>(std::get<AnchorNetwork>(model.function).gamma)));
  const Codes codes = encode(model, x);
  for (std::size_t i = 0; i < 60; i += 7) {
    for (std::size_t j = i + 1; j < 60; j += 5) {
      const auto a = static_cast<Eigen::Index>(i);
      const auto b = static_cast<Eigen::Index>(j);
      const double angle = std::acos(kc(a, b) / std::sqrt(kc(a, a) * kc(b, b)));
      EXPECT_NEAR(static_cast<double>(hamming_distance(codes[i], codes[j])) / 4096, angle / std::numbers::pi, 0.06);
    }
  }
}

TEST(Klsh, ALongerCodeStartsWithTheShorterOneForAnyNumberOfBits) {
  const Vectors x = gaussian(3, 60, 4);
  const std::map<std::string, std::string> set = {{"anchors", "20"}, {"subset", "5"}};
  const Codes shorter = encode(train(x, {.method = "klsh", .bits = 8, .set = set}), x);
  const Codes longer = encode(train(x, {.method = "klsh", .bits = 200, .set = set}), x);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(shorter[i][0], longer[i][0]);
}

TEST(Klsh, RefusesWhatCannotBe) {
  EXPECT_BDNN_ERROR(train(gaussian(4, 100, 4), {.method = "klsh", .bits = 2}), misuse,
                    "300 anchors cannot be chosen from 100 samples");
  EXPECT_BDNN_ERROR(train(gaussian(4, 100, 4), {.method = "klsh", .bits = 2, .set = {{"anchors", "30"}}}), misuse,
                    "each bit takes 30 anchors out of 30");
  EXPECT_BDNN_ERROR(train(Vectors(4, 400, std::vector<float>(1600, 7.5F)), {.method = "klsh", .bits = 2}), misuse,
                    "all 400 vectors are the same");
  // Different vectors, but all anchors the same: the centred kernel is zero.
  std::vector<float> values(3 * 400, 2.0F);
  values[0] = 3;
  EXPECT_BDNN_ERROR(train(Vectors(3, 400, values), {.method = "klsh", .bits = 2, .set = {{"anchors", "31"}}}), misuse,
                    "anchors are all the same");
}

}  // namespace
}  // namespace bdnn
