#include "methods/itq_cca/itq_cca.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "bdnn/bdnn.h"
#include "codes/hamming.h"
#include "expect_error.h"
#include "learn/affine.h"
#include "learn/itq_rotation.h"
#include "linalg/decompose.h"
#include "methods/matrices_testing.h"

namespace bdnn {
namespace {

using testing::weight_of;

struct CcaExample {
  MatrixXd x;  // samples as columns
  Vectors vectors;
  std::vector<std::int64_t> labels;
};

// Three classes of different sizes, whose means differ in the first dimensions; the last dimension varies most.
CcaExample example(std::size_t count = 600) {
  Random random(3);
  CcaExample e;
  e.x.resize(6, static_cast<Eigen::Index>(count));
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t label = i % 6 < 3 ? 0 : i % 6 < 5 ? 1 : 2;
    e.labels.push_back(label);
    for (Eigen::Index k = 0; k < 6; ++k) {
      const double mean = k == 0   ? 2.0 * static_cast<double>(label == 1)
                          : k == 1 ? 3.0 * static_cast<double>(label == 2)
                                   : 0;
      const auto value = static_cast<float>(1 + mean + random.normal() * (k == 5 ? 20 : 1));
      values.push_back(value);
      e.x(k, static_cast<Eigen::Index>(i)) = static_cast<double>(value);
    }
  }
  e.vectors = Vectors(6, count, std::move(values));
  return e;
}

// W W^T does not see the rotation: what it must be follows from C_xx, C_xy and C_yy, formed from one-hot labels.
TEST(ItqCca, DirectionsAreThoseOfTheGeneralisedProblemScaledByTheirCorrelations) {
  const CcaExample e = example();
  const auto m = static_cast<double>(e.labels.size());
  MatrixXd y = MatrixXd::Zero(3, e.x.cols());
  for (Eigen::Index i = 0; i < e.x.cols(); ++i) y(e.labels[static_cast<std::size_t>(i)], i) = 1;
  const MatrixXd xc = e.x.colwise() - e.x.rowwise().mean();
  const MatrixXd yc = y.colwise() - y.rowwise().mean();
  MatrixXd cxx = xc * xc.transpose() / m;
  cxx += 0.01 * cxx.trace() / 6 * MatrixXd::Identity(6, 6);
  const MatrixXd cyy = yc * yc.transpose() / m + 1e-9 * MatrixXd::Identity(3, 3);
  const MatrixXd cxy = xc * yc.transpose() / m;
  const auto cca = top_eigenpairs(cxy * solve_symmetric(cyy, cxy.transpose()), cxx, 2);
  ASSERT_TRUE(cca);
  const MatrixXd w = cca->vectors * cca->values.cwiseSqrt().asDiagonal();
  for (const std::size_t bits : {2U, 5U}) {
    const Model model =
        train(e.vectors, {.method = "itq-cca", .bits = bits, .set = {{"regularisation", "0.01"}}, .labels = e.labels});
    const MatrixXd found = weight_of(model);
    EXPECT_TRUE((found.transpose() * found).isApprox(w * w.transpose(), 1e-4)) << bits;
  }
}

TEST(ItqCca, TheProfileOfThePaperDiffersInWhatIsMappedToZeroAlone) {
  const CcaExample e = example();
  const auto trained = [&](const char* profile) {
    return train(e.vectors, {.method = "itq-cca", .bits = 2, .profile = profile, .labels = e.labels});
  };
  const Model ours = trained("default");
  const Model paper = trained("paper");
  const OptionValues expected = {{"centre", "classes"}, {"regularisation", "0.0001"}, {"rotations", "50"}};
  EXPECT_EQ(ours.record.options, expected);
  OptionValues of_paper = expected;
  of_paper["centre"] = "data";
  EXPECT_EQ(paper.record.options, of_paper);
  // The vector that is mapped to zero: the mean of the class means, or of the samples.
  MatrixXd sums = MatrixXd::Zero(6, 3);
  VectorXd sizes = VectorXd::Zero(3);
  for (Eigen::Index i = 0; i < e.x.cols(); ++i) {
    const std::int64_t label = e.labels[static_cast<std::size_t>(i)];
    sums.col(label) += e.x.col(i);
    ++sizes[label];
  }
  const VectorXd of_classes = (sums * sizes.cwiseInverse().asDiagonal()).rowwise().mean();
  const auto at = [](const Model& model, const VectorXd& x) -> VectorXd {
    const auto& bias = std::get<Network>(model.function).layers.front().bias;
    return weight_of(model) * x + Eigen::Map<const VectorXf>(bias.data(), 2).cast<double>();
  };
  EXPECT_LT(at(ours, of_classes).norm(), 1e-4);
  EXPECT_LT(at(paper, e.x.rowwise().mean()).norm(), 1e-4);
  EXPECT_GT(at(paper, of_classes).norm(), 0.1);
}

TEST(ItqCca, MoreRotationsComeCloserToBinary) {
  const CcaExample e = example();
  for (const std::size_t bits : {2U, 7U}) {
    double last = 1e300;
    for (const char* rotations : {"0", "1", "5", "40"}) {
      const Model model =
          train(e.vectors, {.method = "itq-cca", .bits = bits, .set = {{"rotations", rotations}}, .labels = e.labels});
      Threads threads(1);
      const MatrixXf h = outputs_of(std::get<Network>(model.function), e.vectors, threads);
      // ||B - R V||^2 falls where sum |R V| grows, since ||R V|| is the same for every R.
      const double error = -static_cast<double>(h.cwiseAbs().sum());
      EXPECT_LE(error, last + 1e-5 * std::abs(error)) << rotations;
      last = error;
    }
  }
}

TEST(ItqRotation, ForMoreBitsThanRowsIsThatOfRowsOfZerosBelow) {
  Random random(11);
  MatrixXf v(3, 500);
  for (float& entry : v.reshaped()) entry = static_cast<float>(random.normal());
  MatrixXf padded = MatrixXf::Zero(8, 500);
  padded.topRows(3) = v;
  Threads threads(2);
  Progress silent;
  const MatrixXd r = itq_rotation(v, 8, 30, 1, threads, silent);
  ASSERT_EQ(r.rows(), 8);
  EXPECT_TRUE((r.transpose() * r).isIdentity(1e-10));
  // A fixed point of the one is a fixed point of the other.
  const MatrixXf b = (r.cast<float>() * v).unaryExpr([](float h) { return sign_of(h); });
  EXPECT_GT((b.array() > 0).count(), 500);
  const double own = static_cast<double>((r.cast<float>() * v).cwiseAbs().sum());
  const MatrixXd whole = itq_rotation(padded, 30, 1, threads, silent);
  const double other = static_cast<double>((whole.cast<float>() * padded).cwiseAbs().sum());
  EXPECT_NEAR(own, other, 0.02 * other);  // from another start
}

TEST(ItqCca, IgnoresADirectionThatSaysNothingAboutClasses) {
  const CcaExample e = example();
  const MatrixXd w = weight_of(train(e.vectors, {.method = "itq-cca", .bits = 2, .labels = e.labels}));
  EXPECT_LT(w.col(5).norm(), 0.02 * w.col(0).norm());
}

TEST(ItqCca, UnlabelledSamplesStillShowHowTheDataVaries) {
  CcaExample e = example();
  const MatrixXd all = weight_of(train(e.vectors, {.method = "itq-cca", .bits = 2, .labels = e.labels}));
  for (std::size_t i = 0; i < e.labels.size(); ++i) {
    if (i / 6 % 2 == 0) e.labels[i] = -1;
  }
  const MatrixXd half = weight_of(train(e.vectors, {.method = "itq-cca", .bits = 2, .labels = e.labels}));
  EXPECT_TRUE((half.transpose() * half).isApprox(all.transpose() * all, 0.3));
}

TEST(ItqCca, MeansThatAreAllTheSameAreRefused) {
  // Each vector stands in both classes.
  std::vector<float> values;
  std::vector<std::int64_t> labels;
  for (int i = 0; i < 40; ++i) {
    values.insert(values.end(), {static_cast<float>(i / 2), static_cast<float>(i / 2 % 3)});
    labels.push_back(i % 2);
  }
  EXPECT_BDNN_ERROR(train(Vectors(2, 40, values), {.method = "itq-cca", .bits = 2, .labels = labels}), misuse,
                    "all classes have the same mean");
}

TEST(ItqCca, ASingularCovarianceNeedsRegularisation) {
  CcaExample e = example(60);
  std::vector<float> values;
  for (const double value : e.x.row(0)) values.insert(values.end(), {static_cast<float>(value), 5.0F});
  const Vectors flat(2, 60, std::move(values));
  EXPECT_BDNN_ERROR(train(flat, {.method = "itq-cca", .bits = 2, .set = {{"regularisation", "0"}}, .labels = e.labels}),
                    misuse, "raise regularisation above 0");
  EXPECT_EQ(train(flat, {.method = "itq-cca", .bits = 2, .labels = e.labels}).bits(), 2U);
}

}  // namespace
}  // namespace bdnn
