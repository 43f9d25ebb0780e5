// Runs under ThreadSanitizer: threads share a batch and its gradient.
#include "methods/dh/dh.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "bdnn/encode.h"
#include "expect_error.h"
#include "linalg/matrix.h"
#include "methods/dh/dh_objective.h"
#include "methods/progress_testing.h"

namespace bdnn {
namespace {

std::vector<double> normals(std::size_t size, double deviation, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(size);
  for (auto& value : values) value = deviation * random.normal();
  return values;
}

// J as the header writes it, with all matrices formed.
double naive(const LayerSizes& sizes, const DhWeights& weights, const std::vector<double>& parameters,
             const std::vector<double>& x, std::size_t samples) {
  const auto matrix = [](const double* data, std::size_t rows, std::size_t columns) {
    return Eigen::Map<const MatrixXd>(data, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
  };
  MatrixXd h = matrix(x.data(), sizes.dimension(), samples);
  double j = 0;
  for (std::size_t l = 0; l < sizes.count(); ++l) {
    const MatrixXd w = matrix(parameters.data() + sizes.weights(l), sizes.outputs(l), sizes.inputs(l));
    const VectorXd c = matrix(parameters.data() + sizes.biases(l), sizes.outputs(l), 1);
    h = ((w * h).colwise() + c).array().tanh().matrix();
    j += weights.orthogonality / 2 * (w * w.transpose() - MatrixXd::Identity(w.rows(), w.rows())).squaredNorm();
    j += weights.decay / 2 * (w.squaredNorm() + c.squaredNorm());
  }
  const VectorXd mean = weights.centred ? VectorXd(h.rowwise().mean()) : VectorXd::Zero(h.rows());
  const MatrixXd deviation = h.colwise() - mean;
  const MatrixXd signs = h.unaryExpr([](double v) { return v < 0 ? -1.0 : 1.0; });
  const auto m = static_cast<double>(samples);
  return j + (signs - h).squaredNorm() / (2 * m) -
         weights.variance / (2 * m) * (deviation * deviation.transpose()).trace();
}

class DhTerms : public ::testing::TestWithParam<DhWeights> {};

TEST_P(DhTerms, EqualTheFormulaAndTheirGradientFiniteDifferences) {
  const LayerSizes sizes({7, 5, 4, 3});
  constexpr std::size_t kSamples = 61;
  std::vector<double> parameters = normals(sizes.parameters(), 0.6, 1);
  const std::vector<double> x = normals(sizes.dimension() * kSamples, 1, 2);
  Threads threads(2);
  DhObjective<double> objective(sizes, GetParam(), threads);
  std::vector<double> gradient(sizes.parameters());
  const double j = objective.evaluate(parameters.data(), x.data(), kSamples, gradient.data());
  EXPECT_NEAR(j, naive(sizes, GetParam(), parameters, x, kSamples), 1e-10 * (1 + std::abs(j)));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    constexpr double kStep = 1e-6;  // no output changes its sign on the way
    const double at = parameters[i];
    parameters[i] = at + kStep;
    const double above = naive(sizes, GetParam(), parameters, x, kSamples);
    parameters[i] = at - kStep;
    const double below = naive(sizes, GetParam(), parameters, x, kSamples);
    parameters[i] = at;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-6 * (1 + std::abs(gradient[i]))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(EachAndAll, DhTerms,
                         ::testing::Values(DhWeights{}, DhWeights{.variance = 3}, DhWeights{.orthogonality = 0.7},
                                           DhWeights{.decay = 0.4}, DhWeights{.variance = 3, .centred = false},
                                           DhWeights{100, true, 1e-3, 1e-3}));

// Four clusters in a plane, in ten dimensions, with noise.
Vectors clusters(std::size_t count) {
  Random random(3);
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t d = 0; d < 10; ++d) {
      const double centre = d == 0 ? (random.below(2) == 0 ? 5 : -5) : d == 1 ? (random.below(2) == 0 ? 4 : -4) : 0;
      values.push_back(static_cast<float>(20 + centre + random.normal()));
    }
  }
  return {10, count, std::move(values)};
}

TEST(Dh, LowersItsObjectiveFromEveryStart) {
  const Vectors x = clusters(1500);
  using Settings = std::map<std::string, std::string>;
  // Small weights alone would lower the default objective; without the terms that see only weights, they do not.
  const Settings no_terms_of_weights = {{"decay", "0"}, {"orthogonality", "0"}};
  for (const char* start : {"pca", "rotated", "itq"}) {
    for (const char* profile : {"default", "paper"}) {
      for (Settings set : {Settings(), no_terms_of_weights}) {
        set["start"] = start;
        set["steps"] = "300";
        testing::Rounds rounds;
        train(x, {.method = "dh", .bits = 4, .threads = 1, .profile = profile, .set = set, .decoder = false}, rounds);
        const auto objectives = rounds.figures("objective");
        ASSERT_EQ(objectives.size(), 10U);
        EXPECT_LT(objectives.back(), objectives.front())
            << start << ", " << profile << (set.contains("decay") ? ", no terms of weights" : "");
      }
    }
  }
}

TEST(Dh, WhereStepsDoNotReachAllSamplesItIsSaid) {
  const Vectors x = clusters(1000);
  const auto stages = [&](const char* steps) {
    return testing::stages_of(
        x, {.method = "dh", .bits = 4, .set = {{"steps", steps}, {"batch", "100"}}, .decoder = false});
  };
  EXPECT_TRUE(stages("4").contains("network, on 400 of 1000 samples"));
  EXPECT_TRUE(stages("10").contains("network"));
}

TEST(Dh, WithoutStepsThePrincipalDirectionsAreItsBits) {
  // Through tanh layers that pass the leading units on, signs stay what they are.
  const Vectors x = clusters(500);
  const Codes deep = encode(train(x, {.method = "dh", .bits = 4, .set = {{"steps", "0"}, {"start", "pca"}}}), x);
  const Codes plain = encode(train(x, {.method = "pca", .bits = 4}), x);
  std::size_t differing = 0;
  for (std::size_t i = 0; i < x.size(); ++i) differing += hamming_distance(deep[i], plain[i]);
  EXPECT_LE(differing, 2U);  // rounding
}

TEST(Dh, LeavesTanhLayersWithNearlyOrthonormalRows) {
  const Model model = train(clusters(1500), {.method = "dh", .bits = 4, .set = {{"steps", "300"}, {"decay", "0.001"}}});
  const auto& layers = std::get<Network>(model.function).layers;
  ASSERT_EQ(layers.size(), 3U);
  for (const Layer& layer : layers) {
    EXPECT_EQ(layer.activation, Activation::tanh);
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    MatrixXf w = Eigen::Map<const RowMajor>(layer.weight.data(), static_cast<Eigen::Index>(layer.outputs),
                                            static_cast<Eigen::Index>(layer.inputs));
    w /= std::sqrt(w.squaredNorm() / static_cast<float>(layer.outputs));  // the first has the data's scale in it
    EXPECT_TRUE((w * w.transpose()).isIdentity(0.05F)) << layer.inputs;
  }
}

TEST(Dh, HiddenUnitsAreTheAuthorsAndFitTheData) {
  using Units = std::vector<std::size_t>;
  EXPECT_EQ(dh_hidden_units(8, 784), (Units{60, 30}));
  EXPECT_EQ(dh_hidden_units(16, 784), (Units{60, 30}));
  EXPECT_EQ(dh_hidden_units(24, 784), (Units{70, 40}));
  EXPECT_EQ(dh_hidden_units(32, 784), (Units{80, 50}));
  EXPECT_EQ(dh_hidden_units(64, 784), (Units{100, 80}));
  EXPECT_EQ(dh_hidden_units(128, 784), (Units{180, 144}));
  EXPECT_EQ(dh_hidden_units(16, 20), (Units{20, 20}));
  EXPECT_EQ(dh_hidden_units(16, 16), (Units{16, 16}));
}

TEST(Dh, RefusesWhatCannotBeOrthonormal) {
  const Vectors x = clusters(200);
  EXPECT_BDNN_ERROR(train(x, {.method = "dh", .bits = 11}), misuse, "the vectors have dimension 10");
  EXPECT_BDNN_ERROR(train(x, {.method = "dh", .bits = 4, .set = {{"hidden", "12,8"}}}), misuse,
                    "10 >= s_1 >= s_2 >= ... >= 4");
  EXPECT_BDNN_ERROR(train(x, {.method = "dh", .bits = 4, .set = {{"hidden", "3"}}}), misuse, "hidden=3 does not fit");
  EXPECT_BDNN_ERROR(train(x, {.method = "dh", .bits = 4, .set = {{"hidden", "a"}}}), misuse, "hidden=a is not a list");
  EXPECT_BDNN_ERROR(train(Vectors(4, 50, std::vector<float>(200, 7.5F)), {.method = "dh", .bits = 2}), misuse,
                    "all 50 vectors are the same");
  // The third dimension is the sum of the first two.
  Random random(4);
  std::vector<float> values;
  for (int i = 0; i < 300; ++i) {
    const auto a = static_cast<float>(random.normal());
    const auto b = static_cast<float>(random.normal());
    values.insert(values.end(), {a, b, a + b});
  }
  EXPECT_BDNN_ERROR(train(Vectors(3, 300, values), {.method = "dh", .bits = 3}), misuse, "varies in only 2 directions");
}

}  // namespace
}  // namespace bdnn
