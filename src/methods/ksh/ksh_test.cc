// Runs under ThreadSanitizer: sums over samples on several threads.
#include "methods/ksh/ksh.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "bdnn/encode.h"
#include "expect_error.h"
#include "methods/ksh/bit_search.h"
#include "methods/ksh/projected_residual.h"
#include "methods/matrices_testing.h"
#include "methods/progress_testing.h"
#include "methods/samples_testing.h"

namespace bdnn {
namespace {

using testing::blobs;
using testing::random_matrix;
using testing::turns;

// Uneven classes.
ClassLabels random_labels(std::size_t classes, std::size_t count, Random& random) {
  std::vector<std::int64_t> labels(count);
  for (auto& label : labels) label = static_cast<std::int64_t>(std::min(random.below(classes), random.below(classes)));
  return number_classes(labels, "ksh");
}

VectorXf random_signs(Eigen::Index count, Random& random) {
  VectorXf b(count);
  for (float& value : b) value = random.below(2) == 1 ? 1.0F : -1.0F;
  return b;
}

// L S - sum b b^T, formed.
MatrixXd formed_residual(const ClassLabels& labels, std::size_t bits, const std::vector<VectorXf>& found) {
  const auto m = static_cast<Eigen::Index>(labels.of.size());
  MatrixXd r(m, m);
  for (Eigen::Index i = 0; i < m; ++i) {
    for (Eigen::Index j = 0; j < m; ++j) {
      r(i, j) = static_cast<double>(bits) *
                (labels.of[static_cast<std::size_t>(i)] == labels.of[static_cast<std::size_t>(j)] ? 1 : -1);
    }
  }
  for (const VectorXf& b : found) r -= b.cast<double>() * b.cast<double>().transpose();
  return r;
}

// A residual with some bits found, beside the formed one.
struct Residuals {
  LabelResidual fast;
  MatrixXd formed;

  Residuals(std::size_t classes, Eigen::Index m, std::size_t bits, int found, std::uint64_t seed, Threads& threads)
      : Residuals(random_labels_of(classes, m, seed), m, bits, found, seed, threads) {}

 private:
  static ClassLabels random_labels_of(std::size_t classes, Eigen::Index m, std::uint64_t seed) {
    Random random(seed);
    return random_labels(classes, static_cast<std::size_t>(m), random);
  }
  Residuals(const ClassLabels& labels, Eigen::Index m, std::size_t bits, int found, std::uint64_t seed,
            Threads& threads)
      : fast(labels, bits) {
    Random random(seed + 1);
    std::vector<VectorXf> all;
    for (int k = 0; k < found; ++k) {
      all.push_back(random_signs(m, random));
      fast.subtract(all.back(), threads);
    }
    formed = formed_residual(labels, bits, all);
  }
};

TEST(LabelResidual, EqualsTheFormOfAllPairs) {
  Threads threads(2);
  for (const auto& [found, m] : {std::pair{0, 200}, {1, 200}, {5, 300}}) {
    const Residuals r(4, m, 6, found, 3, threads);
    Random random(9);
    const VectorXf y = random_matrix(m, 1, random);
    const VectorXd ry = r.formed * y.cast<double>();
    const MatrixXf no_features(1, m);
    const BitSearch search(no_features, r.fast, threads);
    const double scale = r.formed.norm() * static_cast<double>(y.squaredNorm());
    EXPECT_NEAR(search.quadratic(y), y.cast<double>().dot(ry), 1e-6 * scale) << found;
    LabelResidual::Sums sums = r.fast.zero();
    r.fast.add({0, 150}, y.data(), sums);
    r.fast.add({150, static_cast<std::size_t>(m - 150)}, y.data() + 150, sums);
    VectorXf fast_ry(m);
    r.fast.multiply({0, 150}, sums, fast_ry.data());
    r.fast.multiply({150, static_cast<std::size_t>(m - 150)}, sums, fast_ry.data() + 150);
    EXPECT_LT((fast_ry.cast<double>() - ry).norm(), 1e-5 * ry.norm()) << found;
    EXPECT_NEAR(r.fast.objective(), r.formed.squaredNorm() / std::pow(6.0 * m, 2), 1e-9) << found;
  }
}

TEST(LabelResidual, IsTheSameOverSeveralBlocks) {
  Threads threads(2);
  constexpr std::size_t kSamples = 2 * kSamplesPerBlock + 77;
  Random random(2);
  LabelResidual residual(random_labels(4, kSamples, random), 3);
  residual.subtract(random_signs(kSamples, random), threads);
  const VectorXf b = random_signs(kSamples, random);  // whose sums are whole numbers
  LabelResidual::Sums sums = residual.zero();
  residual.add({0, kSamples}, b.data(), sums);
  const MatrixXf z = random_matrix(3, kSamples, random);
  const BitSearch search(z, residual, threads);
  EXPECT_EQ(search.quadratic(b), residual.quadratic(sums));
  EXPECT_TRUE(search.sums(b).isApprox(z.cast<double>() * b.cast<double>(), 1e-5));
  const VectorXd w = random_matrix(3, 1, random).cast<double>();
  EXPECT_TRUE(search.outputs(w).isApprox((z.cast<double>().transpose() * w).cast<float>(), 1e-5F));
}

TEST(ProjectedResidual, EqualsTheProductWithTheFormedMatrix) {
  Threads threads(2);
  constexpr Eigen::Index kSamples = 150;
  constexpr std::size_t kBits = 7;
  Random random(6);
  const ClassLabels labels = random_labels(4, kSamples, random);
  const MatrixXf z = random_matrix(5, kSamples, random);
  ProjectedResidual projected(z, labels, kBits, threads);
  std::vector<VectorXf> found;
  for (int k = 0; k <= 3; ++k) {
    const MatrixXd zd = z.cast<double>();
    const MatrixXd expected = zd * formed_residual(labels, kBits, found) * zd.transpose();
    EXPECT_LT((projected.value() - expected).norm(), 1e-6 * expected.norm()) << k << " bits";
    found.push_back(random_signs(kSamples, random));
    projected.subtract(zd * found.back().cast<double>());
  }
}

TEST(BitSearch, TheGradientIsThatOfFiniteDifferences) {
  Threads threads(2);
  const Residuals r(3, 150, 8, 3, 4, threads);
  Random random(5);
  const MatrixXf z = random_matrix(6, 150, random);
  const BitSearch search(z, r.fast, threads);
  const VectorXd w = random_matrix(6, 1, random).cast<double>();
  // f from its definition, in double.
  const auto f = [&](const VectorXd& at) {
    const VectorXd u = z.cast<double>().transpose() * at;
    const VectorXd y = 2 / (1 + (-u).array().exp()) - 1;
    return -y.dot(r.formed * y) / (150.0 * 150.0);
  };
  VectorXd gradient;
  const double value = search.smoothed(search.outputs(w), gradient);
  EXPECT_NEAR(value, f(w), 1e-5 * std::abs(f(w)));
  EXPECT_EQ(search.smoothed(search.outputs(w)), value);
  for (Eigen::Index i = 0; i < 6; ++i) {
    constexpr double kStep = 1e-5;
    VectorXd up = w;
    VectorXd down = w;
    up[i] += kStep;
    down[i] -= kStep;
    EXPECT_NEAR(gradient[i], (f(up) - f(down)) / (2 * kStep), 1e-5 * gradient.norm()) << i;
  }
}

TEST(BitSearch, DescentEndsBelowItsStart) {
  Threads threads(1);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Residuals r(3, 200, 8, static_cast<int>(seed), seed, threads);
    Random random(seed);
    const MatrixXf z = random_matrix(10, 200, random);
    const BitSearch search(z, r.fast, threads);
    const VectorXd start = random_matrix(10, 1, random).cast<double>();
    std::vector<double> stages;
    const VectorXd end = search.descend(start, 50, &stages);
    const double reached = search.smoothed(search.outputs(end));
    EXPECT_LT(reached, stages.front());
    EXPECT_NEAR(reached, *std::min_element(stages.begin(), stages.end()), 1e-5);
  }
}

// The share of samples whose nearest other codes, the mean over ties, have their own label.
double precision_of_nearest(const Codes& codes, const std::vector<std::int64_t>& labels) {
  double sum = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::size_t least = 100000;
    double right = 0;
    double all = 0;
    for (std::size_t j = 0; j < codes.size(); ++j) {
      if (j == i) continue;
      const auto distance = static_cast<std::size_t>(hamming_distance(codes[i], codes[j]));
      if (distance < least) {
        least = distance;
        right = all = 0;
      }
      if (distance > least) continue;
      ++all;
      if (labels[i] == labels[j]) ++right;
    }
    sum += right / all;
  }
  return sum / static_cast<double>(codes.size());
}

TEST(Ksh, TheObjectiveIsThatOfItsCodes) {
  testing::Rounds rounds;
  const auto labels = turns(3, 240);
  const Vectors x = blobs(labels, 6, 1.5, 1);
  const Model model = train(x, {.method = "ksh", .bits = 8, .set = {{"anchors", "60"}}, .labels = labels}, rounds);
  const auto objective = rounds.figures("objective");
  ASSERT_EQ(objective.size(), 8U);
  for (std::size_t k = 1; k < 8; ++k) EXPECT_LT(objective[k], objective[k - 1]) << k;
  const Codes codes = encode(model, x);
  double sum = 0;
  for (std::size_t i = 0; i < 240; ++i) {
    for (std::size_t j = 0; j < 240; ++j) {
      const double product = 1 - 2 * static_cast<double>(hamming_distance(codes[i], codes[j])) / 8;
      sum += std::pow(product - (labels[i] == labels[j] ? 1 : -1), 2);
    }
  }
  EXPECT_NEAR(objective.back(), sum / (240 * 240), 0.01);  // a sample at a border may round to the other side
}

TEST(Ksh, TheSigmoidFindsBetterBitsThanTheEigenvectorAlone) {
  const auto labels = turns(5, 1000);
  const Vectors x = blobs(labels, 8, 0.8, 2);
  const auto objective = [&](const char* steps) {
    struct Last : Progress {
      double value = 0;
      void round(const Round& values) override { value = values.back().second; }
    } last;
    train(x, {.method = "ksh", .bits = 8, .set = {{"anchors", "80"}, {"steps", steps}}, .labels = labels}, last);
    return last.value;
  };
  EXPECT_LT(objective("300"), objective("0"));
}

TEST(Ksh, TheUnlabelledTakeNoPart) {
  const auto labels = turns(3, 120);
  const Vectors x = blobs(labels, 4, 2, 3);
  std::vector<float> more(x.floats(0, 120, nullptr), x.floats(0, 120, nullptr) + 480);
  auto more_labels = labels;
  for (int i = 0; i < 60; ++i) {
    more.insert(more.end(), {1000.0F, -500.0F, static_cast<float>(i), 3.0F});
    more_labels.push_back(-1);
  }
  const Model with = train(Vectors(4, 180, more), {.method = "ksh", .bits = 6, .labels = more_labels});
  const Model without = train(x, {.method = "ksh", .bits = 6, .labels = labels});
  EXPECT_EQ(std::get<AnchorNetwork>(with.function).network.layers[0].weight,
            std::get<AnchorNetwork>(without.function).network.layers[0].weight);
}

TEST(Ksh, ClassesThatAreManyFewOrUneven) {
  const auto check = [](const std::vector<std::int64_t>& labels, std::size_t bits, double least) {
    const Vectors x = blobs(labels, 12, 2, 4);
    const Model model = train(x, {.method = "ksh", .bits = bits, .labels = labels});
    EXPECT_GT(precision_of_nearest(encode(model, x), labels), least) << labels.size() << ", " << bits;
  };
  check(turns(2, 300), 16, 0.95);
  check(turns(100, 600), 16, 0.5);
  check(turns(10, 50), 8, 0.8);
  std::vector<std::int64_t> uneven(400, 0);
  for (std::size_t i = 0; i < 400; i += 20) uneven[i] = 1;
  check(uneven, 8, 0.95);
}

TEST(Ksh, ASampleIsDrawnOnlyIfAskedForAndItIsSaid) {
  const auto labels = turns(3, 300);
  const Vectors x = blobs(labels, 4, 2, 6);
  const auto stages = [&](const char* profile, const char* per_class) {
    return testing::stages_of(x, {.method = "ksh",
                                  .bits = 2,
                                  .profile = profile,
                                  .set = {{"anchors", "20"}, {"per_class", per_class}},
                                  .labels = labels,
                                  .decoder = false});
  };
  EXPECT_EQ(stages("default", "0"), std::set<std::string>{"bits"});
  EXPECT_EQ(stages("paper", "100"), std::set<std::string>{"bits"});  // all that a class has
  EXPECT_EQ(stages("paper", "30"), std::set<std::string>{"bits, on 90 of 300 samples"});
}

TEST(Ksh, MistakesAreNamed) {
  const auto labels = turns(2, 40);
  const Vectors x = blobs(labels, 3, 1, 5);
  EXPECT_BDNN_ERROR(train(x, {.method = "ksh", .bits = 4, .labels = std::vector<std::int64_t>(40, 7)}), misuse,
                    "all labelled samples have the same label; ksh learns from pairs");
  EXPECT_BDNN_ERROR(train(x, {.method = "ksh", .bits = 4, .set = {{"anchors", "41"}}, .labels = labels}), misuse,
                    "ask for at most 40 anchors");
  EXPECT_EQ(std::get<AnchorNetwork>(train(x, {.method = "ksh", .bits = 4, .labels = labels}).function).anchor_count(),
            40U);
  EXPECT_BDNN_ERROR(train(Vectors(2, 40, std::vector<float>(80, 3.0F)), {.method = "ksh", .bits = 4, .labels = labels}),
                    misuse, "all 40 vectors are the same");
}

}  // namespace
}  // namespace bdnn
