#include "methods/classifier/classifier.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "bdnn/encode.h"
#include "learn/class_codes.h"
#include "linalg/decompose.h"

namespace bdnn {
namespace {

constexpr Eigen::Index kDimension = 5;
constexpr std::size_t kCentres = 4;

struct Centred {
  MatrixXd x;  // samples as columns
  Vectors vectors;
  std::vector<std::int64_t> labels;
};

// Around centres that `spread` sets apart, away from zero.
Centred around_centres(std::size_t count, double spread, std::uint64_t noise) {
  Random places(1);
  MatrixXd centres(kDimension, kCentres);
  for (double& value : centres.reshaped()) value = 5 + spread * places.normal();
  Random random(noise);
  Centred data;
  data.x.resize(kDimension, static_cast<Eigen::Index>(count));
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    data.labels.push_back(static_cast<std::int64_t>(i % kCentres));
    for (Eigen::Index d = 0; d < kDimension; ++d) {
      values.push_back(static_cast<float>(centres(d, data.labels.back()) + random.normal()));
      data.x(d, static_cast<Eigen::Index>(i)) = static_cast<double>(values.back());
    }
  }
  data.vectors = Vectors(static_cast<std::size_t>(kDimension), count, std::move(values));
  return data;
}

std::vector<std::uint8_t> code_of_class(const TargetCodes& codes, std::size_t label) {
  const auto first = codes.bytes().begin() + static_cast<std::ptrdiff_t>(label * codes.stride());
  return {first, first + static_cast<std::ptrdiff_t>(codes.stride())};
}

std::vector<std::uint8_t> code_of(const Codes& codes, std::size_t i) { return {codes[i].begin(), codes[i].end()}; }

// Which class has the largest score by a ridge regression to +1 and -1, solved with all matrices formed. Its decay is
// small, as what is chosen for many samples of few dimensions is; the margin is that over the second largest score.
struct Prediction {
  std::size_t label = 0;
  double margin = 0;
};

std::vector<Prediction> naive_ridge(const Centred& train_on, const Centred& fresh) {
  const auto m = static_cast<double>(train_on.labels.size());
  MatrixXd y = MatrixXd::Constant(kCentres, train_on.x.cols(), -1);
  for (Eigen::Index i = 0; i < y.cols(); ++i) y(train_on.labels[static_cast<std::size_t>(i)], i) = 1;
  const VectorXd mean = train_on.x.rowwise().mean();
  const MatrixXd centred = train_on.x.colwise() - mean;
  const MatrixXd w = solve_symmetric(centred * centred.transpose() / m, centred * y.transpose() / m).transpose();
  const VectorXd bias = y.rowwise().mean();
  std::vector<Prediction> predictions;
  for (const auto& x : fresh.x.colwise()) {
    VectorXd scores = w * (x - mean) + bias;
    Eigen::Index best = 0;
    const double most = scores.maxCoeff(&best);
    scores[best] = -1e300;
    predictions.push_back({static_cast<std::size_t>(best), most - scores.maxCoeff()});
  }
  return predictions;
}

TEST(Classifier, GivesTheCodeOfTheClassThatARidgeRegressionPredicts) {
  const Centred train_on = around_centres(800, 1.5, 2);
  const Centred fresh = around_centres(400, 1.5, 3);
  const Model model =
      train(train_on.vectors, {.method = "classifier", .bits = 12, .seed = 5, .labels = train_on.labels});
  const TargetCodes class_code = class_codes(kCentres, 12, 5);
  const Codes codes = encode(model, fresh.vectors);
  const std::vector<Prediction> predictions = naive_ridge(train_on, fresh);
  std::size_t clear = 0;
  std::size_t wrong_class = 0;  // by the regression, too
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    if (predictions[i].margin < 0.2) continue;  // close scores: what both codes agree in; and the decay is not the same
    ++clear;
    EXPECT_EQ(code_of(codes, i), code_of_class(class_code, predictions[i].label)) << i;
    wrong_class += static_cast<std::int64_t>(predictions[i].label) != fresh.labels[i] ? 1U : 0U;
  }
  EXPECT_GT(clear, 200U);
  EXPECT_GT(wrong_class, 0U);
}

TEST(Classifier, BothKindsGiveTheCodesOfClassesThatAreFarApart) {
  const Centred train_on = around_centres(400, 6, 2);
  const Centred fresh = around_centres(200, 6, 3);
  const TargetCodes class_code = class_codes(kCentres, 8, 1);
  for (const char* profile : {"default", "svm"}) {
    const Model model =
        train(train_on.vectors, {.method = "classifier", .bits = 8, .profile = profile, .labels = train_on.labels});
    EXPECT_EQ(model.record.options.at("kind"), std::string(profile) == "svm" ? "svm" : "ridge");
    const Codes codes = encode(model, fresh.vectors);
    std::size_t right = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      right += code_of(codes, i) == code_of_class(class_code, i % kCentres) ? 1U : 0U;
    }
    EXPECT_GT(right, 190U) << profile;
    EXPECT_TRUE(model.record.outcome.ends_with("% of the held-out samples")) << model.record.outcome;
  }
}

}  // namespace
}  // namespace bdnn
