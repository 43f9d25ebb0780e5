#include "learn/decoder.h"

#include <gtest/gtest.h>

#include <bit>

#include "base/random.h"

namespace bdnn {
namespace {

struct RidgeCase {
  MatrixXf x;
  MatrixXf b;
  RidgeSums sums;
};

RidgeCase random_case(Eigen::Index dimension, Eigen::Index bits, Eigen::Index samples) {
  Random random(5);
  RidgeCase made{MatrixXf(dimension, samples), MatrixXf(bits, samples),
                 RidgeSums(static_cast<std::size_t>(bits), static_cast<std::size_t>(dimension))};
  for (float& v : made.x.reshaped()) v = static_cast<float>(3 + random.normal());
  for (float& v : made.b.reshaped()) v = random.below(3) == 0 ? -1.0F : 1.0F;
  RidgePartialSums partial(static_cast<std::size_t>(bits), static_cast<std::size_t>(dimension));
  partial.add(made.x.data(), made.b.data(), static_cast<std::size_t>(samples));
  partial.assign_to(made.sums);
  return made;
}

double objective(const RidgeCase& made, const MatrixXd& w, const VectorXd& c, double lambda1) {
  const MatrixXd rest = made.x.cast<double>() - ((w * made.b.cast<double>()).colwise() + c);
  return rest.squaredNorm() / (2 * static_cast<double>(made.x.cols())) + lambda1 / 2 * w.squaredNorm();
}

TEST(Decoder, HasZeroGradient) {
  const double lambda1 = 0.02;
  const RidgeCase made = random_case(7, 5, 400);
  const RidgeRegression decoder = fit_ridge(made.sums, lambda1);
  const MatrixXd w = decoder.w.cast<double>();
  const VectorXd c = decoder.c.cast<double>();
  // The paper's gradients, with respect to W^(n-1) and c^(n-1).
  const MatrixXd rest = made.x.cast<double>() - ((w * made.b.cast<double>()).colwise() + c);
  const double m = static_cast<double>(made.x.cols());
  const MatrixXd dw = -rest * made.b.cast<double>().transpose() / m + lambda1 * w;
  const VectorXd dc = -rest.rowwise().sum() / m;
  EXPECT_LT(dw.cwiseAbs().maxCoeff(), 3e-6);
  EXPECT_LT(dc.cwiseAbs().maxCoeff(), 3e-6);
  // And finite differences agree that it is a minimum.
  for (Eigen::Index i = 0; i < w.size(); i += 3) {
    MatrixXd moved = w;
    moved.reshaped()[i] += 1e-3;
    EXPECT_GT(objective(made, moved, c, lambda1), objective(made, w, c, lambda1));
  }
}

TEST(Decoder, ErrorIsTheReconstructionTerm) {
  for (const Eigen::Index bits : {4, 450}) {
    const RidgeCase made = random_case(6, bits, 600);
    const RidgeRegression decoder = fit_ridge(made.sums, 1e-3);
    EXPECT_NEAR(mean_squared_error(made.sums, decoder),
                objective(made, decoder.w.cast<double>(), decoder.c.cast<double>(), 0), 1e-5);
  }
}

TEST(Decoder, BitsThatSayNothingDoNoHarm) {
  RidgeCase made = random_case(5, 3, 200);
  made.b.row(2) = made.b.row(0);  // twice the same
  made.b.row(1).setOnes();        // never changes
  RidgePartialSums partial(3, 5);
  partial.add(made.x.data(), made.b.data(), 200);
  RidgeSums sums(3, 5);
  partial.assign_to(sums);
  const RidgeRegression decoder = fit_ridge(sums, 0);
  EXPECT_TRUE(decoder.w.allFinite());
  EXPECT_LT(decoder.w.cwiseAbs().maxCoeff(), 10);
}

// What counting gives, against the features of every code written out.
TEST(Decoder, SumsByGroupsAreThoseOfTheFeatures) {
  for (const auto& [bits, group] : {std::pair{10, 4}, {8, 8}, {12, 8}, {20, 4}}) {
    Random random(6);
    const BitGroups groups(static_cast<std::size_t>(bits), static_cast<std::size_t>(group));
    const std::size_t samples = 300;
    MatrixXf x(5, samples);
    for (float& v : x.reshaped()) v = static_cast<float>(3 + random.normal());
    const std::size_t bytes = (groups.bits() + 7) / 8;
    std::vector<std::uint8_t> codes(bytes * samples);
    MatrixXf features(groups.features(), samples);
    for (std::size_t i = 0; i < samples; ++i) {
      std::uint8_t* code = codes.data() + i * bytes;
      for (std::size_t g = 0; g < groups.count(); ++g) {
        const std::size_t value = random.below(groups.values(g));
        groups.set(code, g, value);
        for (std::size_t s = 1; s < groups.values(g); ++s) {
          const bool odd = std::popcount(s & ~value) % 2 != 0;  // bits of the product that are -1
          features(static_cast<Eigen::Index>(groups.first_feature(g) + s - 1), static_cast<Eigen::Index>(i)) =
              odd ? -1 : 1;
        }
      }
    }
    GroupSums counted(groups, 5);
    GroupPartialSums partial(groups, 5);
    for (const std::size_t first : {0, 100}) {  // in two parts
      partial.clear();
      partial.add(x.data() + first * 5, codes.data() + first * bytes, first == 0 ? 100 : 200);
      GroupSums part(groups, 5);
      partial.assign_to(part);
      partial.add_counts_to(counted);
      counted += part;
    }
    const RidgeSums sums = counted.of_features();
    RidgeSums expected(groups.features(), 5);
    RidgePartialSums written(groups.features(), 5);
    written.add(x.data(), features.data(), samples);
    written.assign_to(expected);
    EXPECT_LT((sums.bb - expected.bb).cwiseAbs().maxCoeff(), 1e-9);
    EXPECT_LT((sums.b - expected.b).cwiseAbs().maxCoeff(), 1e-9);
    EXPECT_LT((sums.bx - expected.bx).cwiseAbs().maxCoeff(), 1e-2);
    EXPECT_LT((sums.x - expected.x).norm(), 1e-9);
    EXPECT_NEAR(sums.squares, expected.squares, 1e-6);
    EXPECT_EQ(sums.samples, expected.samples);
  }
}

TEST(Decoder, IsTheSameByEitherSolver) {
  const RidgeCase made = random_case(3, 450, 600);
  const double lambda1 = 0.1;
  const RidgeRegression decoder = fit_ridge(made.sums, lambda1);
  const double m = made.sums.samples;
  const VectorXd b = made.sums.b / m;
  const MatrixXd covariance = made.sums.bb / m - b * b.transpose() + lambda1 * MatrixXd::Identity(450, 450);
  const MatrixXd cross = made.sums.bx / m - b * (made.sums.x / m).transpose();
  EXPECT_LT((covariance * decoder.w.cast<double>().transpose() - cross).cwiseAbs().maxCoeff(), 1e-6);
}

}  // namespace
}  // namespace bdnn
