#include "learn/class_head.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/blocks.h"
#include "base/random.h"
#include "learn/affine.h"
#include "learn/class_codes.h"

namespace bdnn {
namespace {

struct Blobs {
  Vectors x;
  std::vector<std::int32_t> classes;
  std::vector<std::uint32_t> rows;
};

// Points around `classes` random centres.
Blobs blobs(std::size_t classes, std::size_t count, double noise) {
  constexpr std::size_t kDimension = 6;
  Random random(3);
  std::vector<double> centres(classes * kDimension);
  for (double& value : centres) value = 5 + 4 * random.normal();
  std::vector<float> values;
  Blobs blobs;
  for (std::size_t i = 0; i < count; ++i) {
    blobs.classes.push_back(static_cast<std::int32_t>(i % classes));
    for (std::size_t d = 0; d < kDimension; ++d) {
      values.push_back(static_cast<float>(centres[i % classes * kDimension + d] + noise * random.normal()));
    }
  }
  blobs.x = Vectors(kDimension, count, std::move(values));
  blobs.rows.resize(count);
  std::iota(blobs.rows.begin(), blobs.rows.end(), 0U);
  return blobs;
}

Network random_network(std::size_t bits, bool path) {
  Random random(4);
  const auto numbers = [&](std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(0.3 * random.normal());
    return values;
  };
  Network network{{{6, 9, numbers(54), numbers(9), Activation::sigmoid}, {9, bits, numbers(9 * bits), numbers(bits)}}};
  if (path) network.linear = numbers(6 * bits);
  return network;
}

TEST(ClassHead, ScoresAreTheProductsWithTheCodes) {
  const Blobs data = blobs(3, 50, 1);
  const TargetCodes codes = class_codes(5, 12, 1);
  Threads threads(1);
  for (const bool path : {false, true}) {
    const Network network = random_network(12, path);
    const MatrixXf h = outputs_of(network, data.x, threads);
    const MatrixXf z = outputs_of(class_scores(network, codes), data.x, threads);
    for (std::size_t k = 0; k < 5; ++k) {
      VectorXf code(12);
      codes.unpack(k, code.data());
      const VectorXf expected = (code.transpose() * h).transpose() / 12;
      EXPECT_LT((z.row(static_cast<Eigen::Index>(k)).transpose() - expected).cwiseAbs().maxCoeff(), 1e-5F);
    }
  }
}

TEST(ClassHead, GivesTheCodeOfTheClassWithTheLargestScore) {
  const Blobs data = blobs(5, 400, 3);
  const TargetCodes codes = class_codes(5, 16, 1);
  Threads threads(1);
  for (const bool path : {false, true}) {
    const Network scores = class_scores(random_network(16, path), codes);
    const MatrixXf z = outputs_of(scores, data.x, threads);
    const MatrixXf h = outputs_of(with_class_head(scores, codes, data.x, data.rows), data.x, threads);
    const float near = (z.maxCoeff() - z.minCoeff()) / 12;  // 5 nats: one class has 99% of the sum
    int clear = 0;
    for (Eigen::Index i = 0; i < z.cols(); ++i) {
      Eigen::Index best = 0;
      const float top = z.col(i).maxCoeff(&best);
      if ((z.col(i).array() > top - near).count() > 1) continue;
      ++clear;
      VectorXf code(16);
      codes.unpack(static_cast<std::size_t>(best), code.data());
      EXPECT_GT((h.col(i).array() * code.array()).minCoeff(), 0) << i;
    }
    EXPECT_GT(clear, 50);
  }
}

TEST(ClassHead, RidgeScoresAreTheRegressionInClosedForm) {
  const Blobs data = blobs(4, 300, 2);
  Threads threads(2);
  const TrainingSet set(data.x, data.rows, {VectorXd::Constant(6, 5.0), 0.2});
  const std::vector<double> decays = {1e-3, 0.5};
  const auto networks = ridge_class_scores(set, data.classes, 4, decays, threads);
  MatrixXd x(6, 300);
  std::vector<float> scratch(6 * 300);
  set.load(std::size_t{0}, 300, scratch.data());
  x = view(scratch.data(), 6, 300).cast<double>();
  MatrixXd y = MatrixXd::Constant(4, 300, -1);
  for (Eigen::Index i = 0; i < 300; ++i) y(data.classes[static_cast<std::size_t>(i)], i) = 1;
  for (std::size_t d = 0; d < decays.size(); ++d) {
    const MatrixXd z = outputs_of(networks[d], data.x, threads).cast<double>();
    // Where the objective 1/2m ||Y - Z||^2 + decay/2 ||W||^2 is least, its gradient is zero.
    const auto& layer = networks[d].layers.front();
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const MatrixXd w = Eigen::Map<const RowMajor>(layer.weight.data(), 4, 6).cast<double>() / 0.2;
    const MatrixXd gradient = (z - y) * x.transpose() / 300 + decays[d] * w;
    EXPECT_LT(gradient.cwiseAbs().maxCoeff(), 1e-4);
    EXPECT_LT((z - y).rowwise().sum().cwiseAbs().maxCoeff() / 300, 1e-4);
  }
}

TEST(ClassHead, SumsOfScoresAreSumsWhateverTheNetworksForm) {
  const Blobs data = blobs(5, 60, 1);
  const TargetCodes codes = class_codes(5, 12, 1);
  Threads threads(1);
  Network affine = class_scores(random_network(12, true), codes);
  affine = {{{6, 5, affine.linear, std::vector<float>{1, -2, 3, 0, 0.5}}}};
  const MatrixXf added = outputs_of(affine, data.x, threads);
  for (const Network& network :
       {class_scores(random_network(12, false), codes), class_scores(random_network(12, true), codes), affine}) {
    const MatrixXf expected = outputs_of(network, data.x, threads) + added;
    const MatrixXf sum = outputs_of(sum_of_scores(network, affine), data.x, threads);
    EXPECT_LT((sum - expected).cwiseAbs().maxCoeff(), 1e-4F * expected.cwiseAbs().maxCoeff());
  }
}

TEST(ClassHead, CountsTheRowsWhoseOwnClassHasTheLargestScore) {
  const Blobs data = blobs(3, 30, 0);  // three points, ten times each
  Threads threads(2);
  const TrainingSet set(data.x, data.rows, {VectorXd::Zero(6), 1});
  const Network scores = ridge_class_scores(set, data.classes, 3, {1e-6}, threads).front();
  EXPECT_EQ(count_right(scores, data.x, data.rows, data.classes, threads), 30U);
  std::vector<std::int32_t> others = data.classes;
  for (std::size_t i = 0; i < 7; ++i) others[i] = (others[i] + 1) % 3;
  EXPECT_EQ(count_right(scores, data.x, data.rows, others, threads), 23U);
  EXPECT_EQ(count_right(scores, data.x, std::vector<std::uint32_t>{0, 1, 29}, others, threads), 1U);
}

TEST(ClassHead, CountsAcrossBlocksAndThreads) {
  const Blobs data = blobs(4, 2 * kSamplesPerBlock + 5, 3);
  Threads one(1);
  Threads three(3);
  const TrainingSet set(data.x, data.rows, {VectorXd::Zero(6), 1});
  const Network scores = ridge_class_scores(set, data.classes, 4, {1e-3}, one).front();
  const MatrixXf z = outputs_of(scores, data.x, one);
  std::size_t expected = 0;
  for (Eigen::Index i = 0; i < z.cols(); ++i) {
    Eigen::Index top = 0;
    z.col(i).maxCoeff(&top);
    expected += top == data.classes[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  EXPECT_EQ(count_right(scores, data.x, data.rows, data.classes, one), expected);
  EXPECT_EQ(count_right(scores, data.x, data.rows, data.classes, three), expected);
  EXPECT_LT(expected, data.rows.size());  // some are wrong
}

// Many dimensions of noise and few samples: without a decay a regression fits the noise.
TEST(ClassHead, FoldsChooseTheDecayThatPredictsSamplesUnseen) {
  constexpr std::size_t kDimension = 60;
  constexpr std::size_t kSamples = 80;
  Random random(5);
  std::vector<float> values;
  std::vector<std::int32_t> classes;
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < kSamples; ++i) {
    classes.push_back(static_cast<std::int32_t>(i % 2));
    rows.push_back(static_cast<std::uint32_t>(i));
    for (std::size_t d = 0; d < kDimension; ++d) {
      const double centre = d < 3 ? (i % 2 == 0 ? 1 : -1) : 0;
      values.push_back(static_cast<float>(centre + random.normal()));
    }
  }
  const Vectors x(kDimension, kSamples, std::move(values));
  const Scaling scaling{VectorXd::Zero(kDimension), 1};
  Threads threads(2);
  const auto choose = [&](const std::vector<double>& decays) {
    return choose_ridge_decay(x, scaling, rows, classes, 2, decays, 1, threads);
  };
  EXPECT_EQ(choose({1e-9, 1}), 1);
  EXPECT_EQ(choose({1, 1e-9}), 1);
  EXPECT_EQ(choose({1e-9}), 1e-9);
  // Fewer rows than folds.
  rows.resize(2);
  EXPECT_EQ(choose({0.5}), 0.5);
}

}  // namespace
}  // namespace bdnn
