// Runs under ThreadSanitizer: spheres are moved on several threads.
#include "methods/sph/sph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "bdnn/encode.h"
#include "expect_error.h"
#include "learn/moments.h"
#include "methods/progress_testing.h"
#include "methods/samples_testing.h"
#include "methods/sph/spheres.h"
#include "model/model_file.h"

namespace bdnn {
namespace {

using testing::gaussian;

MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  Random random(seed);
  MatrixXd matrix(rows, columns);
  for (double& entry : matrix.reshaped()) entry = random.normal();
  return matrix;
}

// Pivots in full dimension, sorted distances, samples one by one.
MatrixXd naive_overlaps(const MatrixXd& x, const MatrixXd& pivots) {
  MatrixXd inside(pivots.rows(), x.cols());
  for (Eigen::Index k = 0; k < pivots.rows(); ++k) {
    std::vector<double> distances;
    for (Eigen::Index i = 0; i < x.cols(); ++i) distances.push_back((x.col(i) - pivots.row(k).transpose()).norm());
    std::vector<double> sorted = distances;
    std::sort(sorted.begin(), sorted.end());
    const double radius = sorted[(sorted.size() - 1) / 2];
    for (Eigen::Index i = 0; i < x.cols(); ++i) inside(k, i) = distances[static_cast<std::size_t>(i)] <= radius ? 1 : 0;
  }
  return inside * inside.transpose();
}

TEST(Spheres, MoveAsANaiveLoopInFullDimensionMovesThem) {
  Threads threads(3);
  for (const auto& [dimension, count, bits] : {std::tuple{5, 201, 4}, {30, 4500, 7}, {12, 2500, 40}, {3, 300, 9}}) {
    const Vectors vectors = gaussian(static_cast<std::size_t>(dimension), static_cast<std::size_t>(count), 1, 2.0);
    const VectorXd centre = mean_of(vectors, threads);
    const MatrixXd x =
        view(vectors.floats(0, vectors.size(), nullptr), vectors.dimension(), vectors.size()).cast<double>().colwise() -
        centre;
    MatrixXd pivots = random_matrix(bits, dimension, 2) * 0.3;
    Spheres spheres(vectors, centre, pivots, threads);
    for (int move = 0; move < 4; ++move) {
      // A sample whose distance is that of the sphere but for rounding may lie on either side.
      const MatrixXd overlaps = naive_overlaps(x, pivots);
      ASSERT_LE((spheres.overlaps() - overlaps).cwiseAbs().maxCoeff(), 2) << bits << " bits, move " << move;
      ASSERT_TRUE(spheres.pivots().isApprox(pivots, 1e-9));
      MatrixXd moved = pivots;
      for (Eigen::Index k = 0; k < bits; ++k) {
        for (Eigen::Index l = 0; l < bits; ++l) {
          if (k == l) continue;
          const double quarter = count / 4.0;
          moved.row(k) += 0.5 * (spheres.overlaps()(k, l) - quarter) / quarter * (pivots.row(k) - pivots.row(l)) / bits;
        }
      }
      spheres.move(step_by_forces(spheres.overlaps(), spheres.samples()));
      pivots = moved;
    }
  }
}

TEST(Spheres, ByHandOnALine) {
  // Spheres about 0 and about 3 over the points 0, 1, 2, 3 hold {0, 1} and {2, 3}.
  Threads threads(1);
  const Vectors x(1, 4, {0, 1, 2, 3});
  MatrixXd pivots(2, 1);
  pivots << 0, 3;
  const Spheres spheres(x, VectorXd::Zero(1), pivots, threads);
  MatrixXd expected(2, 2);
  expected << 2, 0, 0, 2;
  EXPECT_EQ(spheres.overlaps(), expected);
  EXPECT_EQ(overlap_error(spheres.overlaps(), 4).mean, 1);
  EXPECT_EQ(overlap_error(spheres.overlaps(), 4).deviation, 0);
  // Nothing is shared: each comes half of a half closer.
  MatrixXd step(2, 2);
  step << 0.75, 0.25, 0.25, 0.75;
  EXPECT_TRUE(step_by_forces(spheres.overlaps(), 4).isApprox(step));
  EXPECT_NEAR(spheres.reach(), 3 / std::sqrt(3.5), 1e-6);
}

TEST(Spheres, TheErrorOfOverlapsByHand) {
  MatrixXd overlaps(3, 3);  // of 400 samples: 100 would be right
  overlaps << 200, 110, 80, 110, 200, 100, 80, 100, 200;
  const OverlapError error = overlap_error(overlaps, 400);
  EXPECT_NEAR(error.mean, 0.1, 1e-12);
  EXPECT_NEAR(error.deviation, std::sqrt((0.01 + 0.04) / 3 - std::pow(0.1 / 3, 2)), 1e-12);
  EXPECT_EQ(overlap_error(MatrixXd::Constant(1, 1, 200), 400).mean, 0);
}

struct Balance {
  double share = 0;  // the largest deviation of a bit's share of ones from a half
  double pairs = 0;  // the mean deviation of a pair's share from a quarter, in parts of it
};
Balance balance_of(const Codes& codes) {
  const auto bits = static_cast<Eigen::Index>(codes.bits());
  MatrixXd both = MatrixXd::Zero(bits, bits);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto bit = [&](Eigen::Index k) { return codes[i][static_cast<std::size_t>(k) / 8] >> k % 8 & 1; };
    for (Eigen::Index k = 0; k < bits; ++k) {
      for (Eigen::Index l = 0; l < bits; ++l) both(k, l) += bit(k) & bit(l);
    }
  }
  both /= static_cast<double>(codes.size());
  return {(both.diagonal().array() - 0.5).abs().maxCoeff(), overlap_error(both, 1).mean};
}

TEST(Sph, BitsAreBalancedAndPairsIndependent) {
  const Vectors x = gaussian(16, 5001, 3, 5.0);
  testing::Rounds progress;
  const Model model = train(x, {.method = "sph", .bits = 12}, progress);
  const Balance balance = balance_of(encode(model, x));
  EXPECT_LE(balance.share, 0.6 / 5001);  // 2,501 of 5,001 inside
  EXPECT_LE(balance.pairs, 0.1 + 1e-3);
  ASSERT_GE(progress.rounds.size(), 2U);
  const auto error = progress.figures("overlap_error");
  EXPECT_LT(error.back(), error.front());
  EXPECT_LE(error.back(), 0.1);
  EXPECT_LE(progress.figures("overlap_spread").back(), 0.15);
  EXPECT_TRUE(model.record.outcome.starts_with(fmt::format("settled after {} moves", progress.rounds.size())))
      << model.record.outcome;
  const Balance start = balance_of(encode(train(x, {.method = "sph", .bits = 12, .set = {{"iterations", "0"}}}), x));
  EXPECT_LE(start.share, 0.6 / 5001);
  EXPECT_GT(start.pairs, balance.pairs);
}

TEST(Sph, ABitTellsWhetherAVectorIsInsideItsSphere) {
  const Vectors x = gaussian(6, 900, 4);
  const Model model = train(x, {.method = "sph", .bits = 5});
  const auto& function = std::get<AnchorNetwork>(model.function);
  ASSERT_EQ(function.kernel, AnchorNetwork::Kernel::distance);
  ASSERT_EQ(function.anchor_count(), 5U);
  const Vectors fresh = gaussian(6, 200, 5);
  const Codes codes = encode(model, fresh);
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    const float* v = fresh.floats(i, 1, nullptr);
    for (std::size_t k = 0; k < 5; ++k) {
      double square = 0;
      for (std::size_t d = 0; d < 6; ++d)
        square += std::pow(static_cast<double>(v[d] - function.anchors[k * 6 + d]), 2);
      const double depth = static_cast<double>(function.network.layers[0].bias[k]) - std::sqrt(square);
      if (std::abs(depth) < 1e-4) continue;  // rounding decides
      ASSERT_EQ((codes[i][0] >> k & 1) != 0, depth > 0);
    }
  }
}

TEST(Sph, ShiftingTheDataChangesHardlyACode) {
  const Codes a = encode(train(gaussian(8, 1000, 6), {.method = "sph", .bits = 8}), gaussian(8, 1000, 6));
  const Codes b = encode(train(gaussian(8, 1000, 6, 64), {.method = "sph", .bits = 8}), gaussian(8, 1000, 6, 64));
  std::size_t differing = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differing += hamming_distance(a[i], b[i]);
  EXPECT_LT(differing, 80U);  // of 8,000
}

TEST(Sph, ASampleIsDrawnOnlyIfAskedForAndItIsSaid) {
  const Vectors x = gaussian(6, 3000, 7);
  testing::Rounds all;
  const Model full = train(x, {.method = "sph", .bits = 8}, all);
  EXPECT_EQ(all.stages, std::set<std::string>{"moves of spheres"});
  EXPECT_EQ(serialize_model(full).size(), serialize_model(train(x, {.method = "sph", .bits = 8})).size());
  testing::Rounds some;
  const Model model = train(x, {.method = "sph", .bits = 8, .set = {{"samples", "500"}}}, some);
  EXPECT_EQ(some.stages, std::set<std::string>{"moves of spheres, by 500 of 3000 samples"});
  const Balance balance = balance_of(encode(model, x));
  EXPECT_GT(balance.share, 1e-3);
  EXPECT_LT(balance.share, 0.1);
  // A sample of all is all.
  const Model whole = train(x, {.method = "sph", .bits = 8, .set = {{"samples", "3000"}}});
  EXPECT_EQ(std::get<AnchorNetwork>(whole.function).anchors, std::get<AnchorNetwork>(full.function).anchors);
}

TEST(Sph, MoreBitsThanDimensionsOrSamplesArePossible) {
  EXPECT_EQ(train(gaussian(3, 50, 8), {.method = "sph", .bits = 100}).bits(), 100U);
  EXPECT_EQ(train(gaussian(3, 2, 8), {.method = "sph", .bits = 4}).bits(), 4U);
  EXPECT_EQ(train(gaussian(20, 200, 8), {.method = "sph", .bits = 1}).bits(), 1U);
}

TEST(Sph, PivotsThatCannotBecomeIndependentStopBeforeFloatsDo) {
  // Most vectors are the same, so every sphere holds them all, and forces drive the pivots apart for ever.
  Random random(9);
  std::vector<float> values(3 * 400);
  for (std::size_t i = 3 * 300; i < values.size(); ++i) values[i] = static_cast<float>(random.normal());
  const Model model = train(Vectors(3, 400, values), {.method = "sph", .bits = 8, .set = {{"iterations", "100000"}}});
  float farthest = 0;
  for (const float value : std::get<AnchorNetwork>(model.function).anchors)
    farthest = std::max(farthest, std::abs(value));
  EXPECT_GT(farthest, 100);
  EXPECT_LT(farthest, 3000);
  EXPECT_TRUE(model.record.outcome.starts_with("stopped")) << model.record.outcome;
}

TEST(Sph, BadDataIsRefused) {
  EXPECT_BDNN_ERROR(train(Vectors(4, 50, std::vector<float>(200, 7.5F)), {.method = "sph", .bits = 2}), misuse,
                    "all 50 vectors are the same");
  EXPECT_BDNN_ERROR(train(Vectors(1, 3, {1e30F, -1e30F, 3e30F}), {.method = "sph", .bits = 2}), failure,
                    "squares overflow; scale it down");
  EXPECT_BDNN_ERROR(train(Vectors(1, 3, {1e17F, -1e17F, 0}), {.method = "sph", .bits = 2}), failure,
                    "squares overflow; scale it down");
  EXPECT_EQ(train(Vectors(1, 3, {1e14F, -1e14F, 0}), {.method = "sph", .bits = 2}).bits(), 2U);
  EXPECT_BDNN_ERROR(train(gaussian(4, 50, 1), {.method = "sph", .bits = 2, .set = {{"pivot_samples", "0"}}}), misuse,
                    "pivot_samples is 1 to");
  EXPECT_BDNN_ERROR(train(gaussian(4, 50, 1), {.method = "sph", .bits = 2, .set = {{"overlap_error", "-1"}}}), misuse,
                    "overlap_error is 0 to 1");
}

}  // namespace
}  // namespace bdnn
