// Runs under ThreadSanitizer: breakpoints are sorted while steps are taken.
#include "methods/bre/bre.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "bdnn/encode.h"
#include "expect_error.h"
#include "methods/bre/coordinate_descent.h"
#include "methods/matrices_testing.h"
#include "methods/progress_testing.h"
#include "methods/samples_testing.h"

namespace bdnn {
namespace {

using testing::blobs;
using testing::random_matrix;
using testing::turns;

// A small problem, and the distances d that it wants.
struct Problem {
  PairTargets targets;
  MatrixXd distances;
};

Problem of_labels(std::size_t samples, std::size_t classes, Random& random) {
  std::vector<std::int64_t> labels(samples);
  for (auto& label : labels) label = static_cast<std::int64_t>(std::min(random.below(classes), random.below(classes)));
  labels[0] = 0;
  labels[1] = 1;
  MatrixXd distances(samples, samples);
  for (std::size_t i = 0; i < samples; ++i) {
    for (std::size_t j = 0; j < samples; ++j) {
      distances(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = labels[i] == labels[j] ? 0 : 1;
    }
  }
  return {PairTargets(number_classes(labels, "bre")), std::move(distances)};
}

Problem of_vectors(Eigen::Index samples, Eigen::Index dimension, Random& random) {
  MatrixXf unit = random_matrix(dimension, samples, random);
  for (auto vector : unit.colwise()) vector.normalize();
  unit.col(3).setZero();  // a sample at the mean has no direction
  MatrixXd distances = 1 - (unit.transpose() * unit).cast<double>().array();
  return {PairTargets(std::move(unit)), std::move(distances)};
}

double naive_objective(const MatrixXf& codes, const MatrixXd& distances) {
  double sum = 0;
  for (Eigen::Index i = 0; i < codes.cols(); ++i) {
    for (Eigen::Index j = 0; j < codes.cols(); ++j) {
      const double share = static_cast<double>((codes.col(i).array() != codes.col(j).array()).count()) /
                           static_cast<double>(codes.rows());
      sum += std::pow(distances(i, j) - share, 2);
    }
  }
  return sum / static_cast<double>(codes.cols() * codes.cols());
}

std::vector<std::vector<std::uint32_t>> shifted_anchors(std::size_t bits, std::size_t weights, std::size_t anchors) {
  std::vector<std::vector<std::uint32_t>> all(bits);
  for (std::size_t bit = 0; bit < bits; ++bit) {
    for (std::size_t q = 0; q < weights; ++q) all[bit].push_back(static_cast<std::uint32_t>((bit + q) % anchors));
  }
  return all;
}

// The codes of weights, in double.
MatrixXf codes_of(const MatrixXf& features, const std::vector<std::vector<std::uint32_t>>& anchors,
                  const MatrixXd& weights) {
  MatrixXf codes(static_cast<Eigen::Index>(anchors.size()), features.rows());
  for (std::size_t bit = 0; bit < anchors.size(); ++bit) {
    VectorXd f = VectorXd::Zero(features.rows());
    for (std::size_t q = 0; q < anchors[bit].size(); ++q) {
      f += weights(static_cast<Eigen::Index>(q), static_cast<Eigen::Index>(bit)) *
           features.col(anchors[bit][q]).cast<double>();
    }
    codes.row(static_cast<Eigen::Index>(bit)) =
        f.unaryExpr([](double v) { return v >= 0 ? 1.0 : -1.0; }).cast<float>().transpose();
  }
  return codes;
}

TEST(CoordinateDescent, AStepFindsTheBestOfAllValuesOfAWeight) {
  Threads threads(1);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const bool labels = seed % 2 == 0;
    const Problem problem = labels ? of_labels(25, 3, random) : of_vectors(25, 4, random);
    MatrixXf features = random_matrix(25, 5, random);
    features(7, 0) = 0;  // which this anchor never flips
    const auto anchors = shifted_anchors(1, 5, 5);
    // Several bits, of which all but the first have weights for one anchor that is zero everywhere: they never change.
    features.conservativeResize(25, 6);
    features.col(5).setZero();
    auto all_anchors = anchors;
    MatrixXd weights = random_matrix(5, 4, random).cast<double>();
    for (int bit = 1; bit < 4; ++bit) {
      all_anchors.push_back(shifted_anchors(2, 5, 5)[1]);
      all_anchors.back()[0] = 5;
    }
    CoordinateDescent descent(problem.targets, features, all_anchors, weights, threads);
    EXPECT_NEAR(descent.objective(), naive_objective(descent.codes(), problem.distances), 1e-6);
    // Every breakpoint of weight 0 of bit 0, and a value between each two and beyond both ends.
    std::vector<double> breakpoints;
    for (Eigen::Index i = 0; i < 25; ++i) {
      double rest = 0;
      for (int q = 1; q < 5; ++q) rest += weights(q, 0) * static_cast<double>(features(i, q));
      if (features(i, 0) != 0) breakpoints.push_back(-rest / static_cast<double>(features(i, 0)));
    }
    std::sort(breakpoints.begin(), breakpoints.end());
    std::vector<double> values{breakpoints.front() - 1, breakpoints.back() + 1};
    for (std::size_t i = 1; i < breakpoints.size(); ++i) values.push_back((breakpoints[i - 1] + breakpoints[i]) / 2);
    double least = 1e9;
    for (const double value : values) {
      MatrixXd tried = weights;
      tried(0, 0) = value;
      least = std::min(least, naive_objective(codes_of(features, all_anchors, tried), problem.distances));
    }
    descent.step(0);
    EXPECT_NEAR(descent.objective(), least, 1e-6) << seed;
    EXPECT_NEAR(naive_objective(descent.codes(), problem.distances), least, 1e-6) << seed;
    EXPECT_EQ(descent.codes(), codes_of(features, all_anchors, descent.weights())) << seed;
  }
}

TEST(CoordinateDescent, NoStepRaisesTheObjective) {
  Threads threads(3);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    const Problem problem = seed % 2 == 0 ? of_labels(60, 4, random) : of_vectors(60, 5, random);
    const MatrixXf features = random_matrix(60, 8, random);
    const auto anchors = shifted_anchors(6, 5, 8);
    CoordinateDescent descent(problem.targets, features, anchors, random_matrix(5, 6, random).cast<double>(), threads);
    const double first = descent.objective();
    double last = first;
    for (int cycle = 0; cycle < 3; ++cycle) {
      for (std::size_t q = 0; q < 5; ++q) {
        descent.step(q);
        EXPECT_LE(descent.objective(), last + 1e-12);
        last = descent.objective();
      }
      const MatrixXf codes = descent.codes();
      descent.normalise();
      EXPECT_EQ(codes_of(features, anchors, descent.weights()), codes);
    }
    EXPECT_LT(last, 0.95 * first);
    EXPECT_NEAR(last, naive_objective(descent.codes(), problem.distances), 1e-6);
  }
}

TEST(CoordinateDescent, ManySamplesAtOneBreakpointFlipTogether) {
  // Eight copies of each of two samples, which no weight can tell from each other.
  Threads threads(1);
  std::vector<std::int64_t> labels(16);
  MatrixXf features(16, 2);
  for (Eigen::Index i = 0; i < 16; ++i) {
    labels[static_cast<std::size_t>(i)] = i % 2;
    features.row(i) << 1.0F, (i % 2 == 0 ? 0.5F : 0.25F);
  }
  const PairTargets targets(number_classes(labels, "bre"));
  MatrixXd weights(2, 1);
  weights << 1, 1;
  CoordinateDescent descent(targets, features, {{0, 1}}, weights, threads);
  EXPECT_DOUBLE_EQ(descent.objective(), 0.5);
  descent.step(0);
  EXPECT_DOUBLE_EQ(descent.objective(), 0);
  EXPECT_GT(descent.weights()(0, 0), -0.5);
  EXPECT_LT(descent.weights()(0, 0), -0.25);
}

// The mean over pairs of (d - h)^2 of codes.
template <class Distance>
double objective_of(const Codes& codes, const Distance& distance) {
  double sum = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (std::size_t j = 0; j < codes.size(); ++j) {
      const double share =
          static_cast<double>(hamming_distance(codes[i], codes[j])) / static_cast<double>(codes.bits());
      sum += std::pow(distance(i, j) - share, 2);
    }
  }
  return sum / static_cast<double>(codes.size() * codes.size());
}

TEST(Bre, TheModelHasTheObjectiveThatWasReached) {
  const auto labels = turns(4, 200);
  const Vectors x = blobs(labels, 6, 2, 1);
  for (const char* kernel : {"linear", "gaussian"}) {
    testing::Rounds rounds;
    const Model model = train(
        x, {.method = "bre", .bits = 8, .set = {{"kernel", kernel}, {"weights", "20"}}, .labels = labels}, rounds);
    const auto objective = rounds.figures("objective");
    EXPECT_TRUE(std::is_sorted(objective.rbegin(), objective.rend()));
    EXPECT_LT(objective.back(), 0.7 * objective.front());
    const double reached = objective_of(
        encode(model, x), [&](std::size_t i, std::size_t j) { return labels[i] == labels[j] ? 0.0 : 1.0; });
    EXPECT_NEAR(reached, objective.back(), 2e-3) << kernel;  // a sample at a border may round to the other side
  }
}

TEST(BreU, RebuildsDistancesOfVectors) {
  const Vectors x = blobs(turns(5, 150), 6, 2, 2);
  VectorXd mean = VectorXd::Zero(6);
  for (std::size_t i = 0; i < 150; ++i) mean += view(x.floats(i, 1, nullptr), 6, 1).cast<double>() / 150;
  const auto unit = [&](std::size_t i) -> VectorXd {
    const VectorXd centred = view(x.floats(i, 1, nullptr), 6, 1).cast<double>() - mean;
    return centred / centred.norm();
  };
  for (const char* kernel : {"linear", "gaussian"}) {
    testing::Rounds rounds;
    const Model model =
        train(x, {.method = "bre-u", .bits = 16, .set = {{"kernel", kernel}, {"weights", "20"}}}, rounds);
    const auto objective = rounds.figures("objective");
    EXPECT_LT(objective.back(), 0.95 * objective.front());
    const double reached = objective_of(
        encode(model, x), [&](std::size_t i, std::size_t j) { return 0.5 * (unit(i) - unit(j)).squaredNorm(); });
    EXPECT_NEAR(reached, objective.back(), 2e-3) << kernel;
  }
}

TEST(Bre, OnlyAnchorsInUseAreKept) {
  const auto labels = turns(3, 500);
  const Vectors x = blobs(labels, 4, 2, 3);
  const Model model = train(
      x,
      {.method = "bre", .bits = 4, .set = {{"anchors", "400"}, {"weights", "10"}, {"cycles", "1"}}, .labels = labels});
  EXPECT_LE(std::get<AnchorNetwork>(model.function).anchor_count(), 40U);
  EXPECT_GT(std::get<AnchorNetwork>(model.function).anchor_count(), 30U);
}

TEST(Bre, ClassesThatAreManyFewOrUneven) {
  const auto check = [](const std::vector<std::int64_t>& labels, std::size_t bits, double least) {
    const Vectors x = blobs(labels, 12, 2, 4);
    const Codes codes =
        encode(train(x, {.method = "bre", .bits = bits, .set = {{"cycles", "2"}}, .labels = labels}), x);
    // How much closer samples of the same class are, in shares of the bits.
    double same = 0;
    double other = 0;
    double same_count = 0;
    double other_count = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double share = static_cast<double>(hamming_distance(codes[i], codes[j])) / static_cast<double>(bits);
        (labels[i] == labels[j] ? same : other) += share;
        (labels[i] == labels[j] ? same_count : other_count) += 1;
      }
    }
    EXPECT_GT(other / other_count - same / same_count, least) << labels.size() << ", " << bits;
  };
  check(turns(2, 300), 16, 0.9);
  check(turns(100, 500), 16, 0.1);
  check(turns(10, 50), 8, 0.2);
  std::vector<std::int64_t> uneven(400, 0);
  for (std::size_t i = 0; i < 400; i += 20) uneven[i] = 1;
  check(uneven, 8, 0.5);
  auto a_third_unlabelled = turns(4, 300);
  for (std::size_t i = 0; i < 300; i += 3) a_third_unlabelled[i] = -1;
  const Vectors x = blobs(turns(4, 300), 6, 2, 5);
  EXPECT_EQ(train(x, {.method = "bre", .bits = 6, .labels = a_third_unlabelled}).bits(), 6U);
}

TEST(BreU, WhereASampleIsDrawnItIsSaid) {
  const Vectors x = blobs(turns(2, 300), 4, 2, 6);
  const auto stages = [&](const char* samples) {
    return testing::stages_of(x, {.method = "bre-u",
                                  .bits = 2,
                                  .set = {{"samples", samples}, {"weights", "5"}, {"cycles", "1"}},
                                  .decoder = false});
  };
  EXPECT_EQ(stages("100"), std::set<std::string>{"weights, on 100 of 300 samples"});
  EXPECT_EQ(stages("300"), std::set<std::string>{"weights"});
  EXPECT_EQ(stages("0"), std::set<std::string>{"weights"});
  EXPECT_EQ(stages("5000"), std::set<std::string>{"weights"});  // the default
}

TEST(Bre, MistakesAreNamed) {
  const auto labels = turns(2, 40);
  const Vectors x = blobs(labels, 3, 1, 5);
  EXPECT_BDNN_ERROR(train(x, {.method = "bre", .bits = 4, .labels = std::vector<std::int64_t>(40, 7)}), misuse,
                    "all labelled samples have the same label; bre learns from pairs");
  EXPECT_BDNN_ERROR(train(x, {.method = "bre", .bits = 4, .set = {{"anchors", "41"}}, .labels = labels}), misuse,
                    "ask for at most 40 anchors");
  EXPECT_BDNN_ERROR(train(x, {.method = "bre-u", .bits = 4, .set = {{"kernel", "cosine"}}}), misuse,
                    "kernel is linear or gaussian");
  EXPECT_BDNN_ERROR(train(x, {.method = "bre-u", .bits = 4, .set = {{"width", "1"}}}), misuse,
                    "width applies to Gaussians");
  EXPECT_BDNN_ERROR(train(x, {.method = "bre-u", .bits = 4, .set = {{"anchors", "30"}, {"weights", "31"}}}), misuse,
                    "cannot have 31 weights, one per anchor, if there are 30 anchors");
  const Vectors same(2, 40, std::vector<float>(80, 3.0F));
  EXPECT_BDNN_ERROR(train(same, {.method = "bre", .bits = 4, .labels = labels}), misuse, "all 40 vectors are the same");
  EXPECT_BDNN_ERROR(train(same, {.method = "bre-u", .bits = 4}), misuse, "all 40 vectors are the same");
}

}  // namespace
}  // namespace bdnn
