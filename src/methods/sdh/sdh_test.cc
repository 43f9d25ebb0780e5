#include "methods/sdh/sdh.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "bdnn/bdnn.h"
#include "expect_error.h"
#include "learn/anchors.h"
#include "learn/class_labels.h"
#include "methods/progress_testing.h"
#include "methods/sdh/sdh_steps.h"

namespace bdnn {
namespace {

constexpr std::size_t kSdhSamples = 150;
constexpr std::size_t kSdhBits = 7;

// Samples of four classes, and the steps on them.
struct SdhExample {
  Vectors x;
  ClassLabels labels;
  AnchorNetwork anchors;
  std::optional<AnchorKernel> kernel;
  std::optional<TrainingSet> set;
  std::optional<SdhSteps> steps;
  Threads threads{2};

  explicit SdhExample(SdhOptions options) {
    Random random(1);
    std::vector<float> values;
    std::vector<std::int64_t> numbers;
    std::vector<std::uint32_t> rows;
    for (std::size_t i = 0; i < kSdhSamples; ++i) {
      numbers.push_back(static_cast<std::int64_t>(i % 4));
      rows.push_back(static_cast<std::uint32_t>(i));
      for (std::size_t k = 0; k < 3; ++k) {
        values.push_back(static_cast<float>(2 * random.normal() + (i % 4 == k ? 3 : 0)));
      }
    }
    x = Vectors(3, kSdhSamples, std::move(values));
    labels = number_classes(numbers, "m");
    anchors = sample_anchors(x, 20, 0.5, 1, threads);
    kernel.emplace(anchors);
    set.emplace(x, rows, Scaling{VectorXd::Zero(3), 1});
    TargetCodes codes(kSdhBits, kSdhSamples);
    for (auto& byte : codes.bytes()) byte = static_cast<std::uint8_t>(random.below(128));
    steps.emplace(*set, labels.of, labels.classes, *kernel, options, std::move(codes), threads);
  }

  void fit() {
    steps->fit_labels();
    steps->fit_predictions();
  }
  MatrixXd phi() const {
    EncoderScratch scratch;
    return view(kernel->features(x.floats(0, kSdhSamples, nullptr), kSdhSamples, scratch), 20, kSdhSamples)
        .cast<double>();
  }
  MatrixXd b() const {
    MatrixXd codes(kSdhBits, kSdhSamples);
    for (std::size_t i = 0; i < kSdhSamples; ++i)
      steps->codes().unpack(i, codes.col(static_cast<Eigen::Index>(i)).data());
    return codes;
  }
  MatrixXd y() const {
    MatrixXd one_hot = MatrixXd::Zero(4, kSdhSamples);
    for (std::size_t i = 0; i < kSdhSamples; ++i) one_hot(labels.of[i], static_cast<Eigen::Index>(i)) = 1;
    return one_hot;
  }
  // As the formula has them, sample by sample.
  double label_error(const MatrixXd& w, double lambda) const {
    return (y() - w.transpose() * b()).squaredNorm() + lambda * w.squaredNorm();
  }
  double prediction_error(const MatrixXd& p, const VectorXd& c) const {
    const MatrixXd f = (p.transpose() * phi()).colwise() + c;
    return (b() - f).squaredNorm() + steps->decay() * p.squaredNorm();
  }
};

SdhOptions options_with(double nu) {
  SdhOptions options;
  options.nu = nu;
  options.lambda = 2;
  options.decay = 1e-3;
  return options;
}

TEST(SdhSteps, ErrorsFromSumsAreThoseOfTheFormula) {
  SdhExample e(options_with(1e-2));
  for (int i = 0; i < 3; ++i) {
    e.fit();
    EXPECT_NEAR(e.steps->label_error(), e.label_error(e.steps->w(), 2), 1e-6 * kSdhSamples);
    const double predictions = e.prediction_error(e.steps->p(), e.steps->c());
    EXPECT_NEAR(e.steps->prediction_error(), predictions, 1e-5 * predictions);
    e.steps->improve();
  }
}

TEST(SdhSteps, NoOtherWOrPIsBetter) {
  SdhExample e(options_with(1e-2));
  e.fit();
  e.steps->improve();
  e.fit();
  const double labels = e.label_error(e.steps->w(), 2);
  const double predictions = e.prediction_error(e.steps->p(), e.steps->c());
  Random random(3);
  const auto noise = [&](const auto& like) {
    MatrixXd matrix = like;
    for (double& entry : matrix.reshaped()) entry = 0.01 * random.normal();
    return matrix;
  };
  for (int i = 0; i < 50; ++i) {
    EXPECT_GT(e.label_error(e.steps->w() + noise(e.steps->w()), 2), labels);
    EXPECT_GT(e.prediction_error(e.steps->p() + noise(e.steps->p()), e.steps->c() + noise(e.steps->c())), predictions);
  }
}

// For every weight of the predictions: where it is small labels rule, where it is large the predictions do.
TEST(SdhSteps, NoStepRaisesTheObjective) {
  for (const double nu : {1e-5, 1e-2, 1.0}) {
    SdhExample e(options_with(nu));
    e.fit();
    double last = e.steps->objective();
    for (int i = 0; i < 6; ++i) {
      const MatrixXd w = e.steps->w();
      const MatrixXd p = e.steps->p();
      const VectorXd c = e.steps->c();
      const MatrixXd before = e.b();
      const std::size_t changed = e.steps->improve();
      const MatrixXd after = e.b();
      EXPECT_EQ(changed, static_cast<std::size_t>(((before - after).colwise().norm().array() > 0).count()));
      const double improved = e.label_error(w, 2) + nu * e.prediction_error(p, c);
      EXPECT_LE(improved, last + 1e-5 * last) << nu;
      e.fit();
      EXPECT_LE(e.steps->objective(), improved + 1e-5 * improved) << nu;
      last = e.steps->objective();
    }
  }
}

// No single bit of any sample could be flipped to lower the objective at the W, P and c of the step.
TEST(SdhSteps, TheBStepLeavesNoBitThatWouldBeBetterFlipped) {
  const double nu = 0.05;
  SdhExample e(options_with(nu));
  e.fit();
  e.steps->improve();
  e.fit();
  const MatrixXd w = e.steps->w();
  const MatrixXd f = (e.steps->p().transpose() * e.phi()).colwise() + e.steps->c();
  e.steps->improve();
  const MatrixXd b = e.b();
  const MatrixXd y = e.y();
  for (Eigen::Index i = 0; i < b.cols(); ++i) {
    const auto error = [&](const VectorXd& code) {
      return (y.col(i) - w.transpose() * code).squaredNorm() + nu * (code - f.col(i)).squaredNorm();
    };
    for (Eigen::Index k = 0; k < b.rows(); ++k) {
      VectorXd flipped = b.col(i);
      flipped[k] = -flipped[k];
      EXPECT_LE(error(b.col(i)), error(flipped) + 1e-6);
    }
  }
}

// Each bit is what the paper's closed form says, at the W of the step.
TEST(SdhSteps, WithTheHingeLossTheBStepIsInClosedForm) {
  SdhOptions options = options_with(0.01);
  options.loss = SdhOptions::Loss::hinge;
  SdhExample e(options);
  double last = 0;
  for (int i = 0; i < 3; ++i) {
    e.fit();
    const MatrixXd w = e.steps->w();
    const MatrixXd f = (e.steps->p().transpose() * e.phi()).colwise() + e.steps->c();
    if (i > 0) {
      EXPECT_LE(e.steps->label_error(), last);  // classes that have codes are easier to tell apart
    }
    last = e.steps->label_error();
    e.steps->improve();
    const MatrixXd b = e.b();
    for (Eigen::Index j = 0; j < b.cols(); ++j) {
      VectorXd sum = 2 * 0.01 * f.col(j);
      for (Eigen::Index c = 0; c < 4; ++c) sum += w.col(e.labels.of[static_cast<std::size_t>(j)]) - w.col(c);
      for (Eigen::Index k = 0; k < b.rows(); ++k) {
        if (std::abs(sum[k]) > 1e-5) {
          EXPECT_EQ(b(k, j) > 0, sum[k] > 0);
        }
      }
    }
  }
}

struct Rings {
  Vectors x;
  std::vector<std::int64_t> labels;
};

// Two rings around the origin: no hyperplane tells them apart, Gaussians do.
Rings rings(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values;
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < count; ++i) {
    const double a = random.normal();
    const double b = random.normal();
    const double radius = (i % 2 == 0 ? 1.0 : 3.0) + 0.2 * random.normal();
    const double length = std::sqrt(a * a + b * b);
    labels.push_back(static_cast<std::int64_t>(i % 2));
    values.push_back(static_cast<float>(a / length * radius));
    values.push_back(static_cast<float>(b / length * radius));
  }
  return {{2, count, std::move(values)}, std::move(labels)};
}

TEST(Sdh, TellsRingsApart) {
  const Rings seen = rings(600, 1);
  const Rings fresh = rings(200, 2);
  testing::Rounds progress;
  const Model model =
      train(seen.x, {.method = "sdh", .bits = 12, .set = {{"anchors", "60"}}, .labels = seen.labels}, progress);
  const auto objective = progress.figures("objective");
  ASSERT_GE(objective.size(), 2U);
  for (std::size_t i = 1; i < objective.size(); ++i) EXPECT_LE(objective[i], objective[i - 1] * (1 + 1e-6));
  const Codes codes = encode(model, fresh.x);
  std::size_t right = 0;
  for (std::size_t i = 2; i < codes.size(); ++i) {
    const std::size_t own = i % 2;
    right += hamming_distance(codes[i], codes[own]) < hamming_distance(codes[i], codes[1 - own]) ? 1U : 0U;
  }
  EXPECT_GT(right, 190U);
}

TEST(Sdh, TellsRingsApartWithTheHingeLossToo) {
  const Rings seen = rings(600, 1);
  const TrainOptions options{
      .method = "sdh", .bits = 12, .threads = 1, .set = {{"anchors", "60"}, {"loss", "hinge"}}, .labels = seen.labels};
  const Model model = train(seen.x, options);
  const Codes codes = encode(model, seen.x);
  std::size_t right = 0;
  for (std::size_t i = 2; i < codes.size(); ++i) {
    const std::size_t own = i % 2;
    right += hamming_distance(codes[i], codes[own]) < hamming_distance(codes[i], codes[1 - own]) ? 1U : 0U;
  }
  EXPECT_GT(right, 570U);
  TrainOptions on_three = options;
  on_three.threads = 3;
  EXPECT_EQ(fingerprint(model), fingerprint(train(seen.x, on_three)));
}

// The code of an unlabelled sample is nobody's business, but it may be an anchor.
TEST(Sdh, UnlabelledSamplesAreAnchorsAndNothingElse) {
  const Rings all = rings(300, 1);
  TrainOptions options{.method = "sdh", .bits = 6, .set = {{"width", "0.3"}}, .labels = all.labels};
  for (std::size_t i = 200; i < 300; ++i) options.labels[i] = -1;
  const Model model = train(all.x, options);
  const auto& function = std::get<AnchorNetwork>(model.function);
  EXPECT_EQ(function.anchor_count(), 300U);  // of 1,000, the default
  const Codes codes = encode(model, all.x);
  std::size_t right = 0;
  for (std::size_t i = 200; i < 300; ++i) {
    right += hamming_distance(codes[i], codes[i % 2]) <= hamming_distance(codes[i], codes[1 - i % 2]) ? 1U : 0U;
  }
  EXPECT_GT(right, 90U);
}

TEST(Sdh, FewSamplesNeedNoOptions) {
  const Rings few = rings(40, 3);
  EXPECT_EQ(train(few.x, {.method = "sdh", .bits = 6, .labels = few.labels}).bits(), 6U);
}

TEST(Sdh, BadOptionsAreRefused) {
  const Rings data = rings(100, 1);
  EXPECT_BDNN_ERROR(train(data.x, {.method = "sdh", .bits = 4, .set = {{"width", "0"}}, .labels = data.labels}), misuse,
                    "width is 0.0001 to 10000, or auto");
  EXPECT_BDNN_ERROR(train(data.x, {.method = "sdh", .bits = 4, .set = {{"anchors", "0"}}, .labels = data.labels}),
                    misuse, "anchors is 1 to 10000");
  EXPECT_BDNN_ERROR(train(data.x, {.method = "sdh", .bits = 4, .set = {{"anchors", "101"}}, .labels = data.labels}),
                    misuse, "ask for at most 100 anchors");
}

}  // namespace
}  // namespace bdnn
