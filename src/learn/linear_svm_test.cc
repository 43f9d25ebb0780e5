// Runs under ThreadSanitizer: samples within the margin are noted by several threads.
#include "learn/linear_svm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linear.h>

#include <numeric>

#include "base/random.h"
#include "expect_error.h"

namespace bdnn {
namespace {

// Samples away from zero, and noisy labels of random hyperplanes.
struct SvmCase {
  Vectors x;
  TrainingSet set;
  Moments moments;
  TargetCodes labels;
  Threads threads;

  SvmCase(std::size_t dimension, std::size_t bits, std::size_t samples, double noise, std::uint64_t seed,
          int thread_count = 2)
      : x(random_vectors(dimension, samples, seed)),
        set(x, every_second_row(samples), {VectorXd::Constant(static_cast<Eigen::Index>(dimension), 0.3), 0.7}),
        labels(bits, set.size()),
        threads(thread_count) {
    Progress silent;
    moments = moments_of(x, threads, silent);
    Random random(seed + 1);
    MatrixXd w(bits, dimension);
    for (double& entry : w.reshaped()) entry = random.normal();
    const MatrixXf all = samples_of_set();
    for (std::size_t i = 0; i < set.size(); ++i) {
      VectorXd h = w * all.col(static_cast<Eigen::Index>(i)).cast<double>();
      for (double& entry : h) entry += noise * random.normal();
      const VectorXf rounded = h.cast<float>();
      labels.pack(i, 1, rounded.data());
    }
  }

  static Vectors random_vectors(std::size_t dimension, std::size_t samples, std::uint64_t seed) {
    Random random(seed);
    std::vector<float> values;
    for (std::size_t i = 0; i < dimension * samples; ++i) {
      values.push_back(static_cast<float>((0.5 + random.normal()) * (i % dimension == 0 ? 5 : 1)));
    }
    return {dimension, samples, std::move(values)};
  }
  static std::vector<std::uint32_t> every_second_row(std::size_t samples) {
    std::vector<std::uint32_t> rows((samples + 1) / 2);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint32_t>(2 * i);
    return rows;
  }

  MatrixXf samples_of_set() const {
    MatrixXf all(set.dimension(), set.size());
    set.load(std::size_t{0}, set.size(), all.data());
    return all;
  }
  double label(std::size_t sample, std::size_t bit) const {
    VectorXd codes(labels.bits());
    labels.unpack(sample, codes.data());
    return codes[static_cast<Eigen::Index>(bit)];
  }
};

// The formula of the header, word for word.
double objective(const SvmCase& made, const LinearSvms& svms, std::size_t bit, double c) {
  const MatrixXd x = made.samples_of_set().cast<double>();
  const auto k = static_cast<Eigen::Index>(bit);
  double loss = 0;
  for (std::size_t i = 0; i < made.set.size(); ++i) {
    const double output = svms.w.col(k).dot(x.col(static_cast<Eigen::Index>(i))) + svms.b[k];
    const double slack = std::max(0.0, 1 - made.label(i, bit) * output);
    loss += slack * slack;
  }
  return 0.5 * (svms.w.col(k).squaredNorm() + svms.b[k] * svms.b[k]) + c * loss;
}

LinearSvms random_svms(std::size_t dimension, std::size_t bits, double size) {
  Random random(17);
  LinearSvms svms = LinearSvms::zero(dimension, bits);
  for (double& entry : svms.w.reshaped()) entry = size * random.normal();
  for (double& entry : svms.b) entry = size * random.normal();
  return svms;
}

// LIBLINEAR's solution for one bit.
LinearSvms liblinear(const SvmCase& made, std::size_t bit, double c) {
  const MatrixXd x = made.samples_of_set().cast<double>();
  const auto dimension = static_cast<int>(x.rows());
  std::vector<feature_node> nodes;
  for (Eigen::Index i = 0; i < x.cols(); ++i) {
    for (Eigen::Index d = 0; d < x.rows(); ++d) nodes.push_back({static_cast<int>(d) + 1, x(d, i)});
    nodes.push_back({dimension + 1, 1.0});
    nodes.push_back({-1, 0.0});
  }
  std::vector<feature_node*> rows;
  std::vector<double> y;
  for (std::size_t i = 0; i < made.set.size(); ++i) {
    rows.push_back(nodes.data() + i * (static_cast<std::size_t>(dimension) + 2));
    y.push_back(made.label(i, bit));
  }
  const problem data{static_cast<int>(rows.size()), dimension + 1, y.data(), rows.data(), 1.0};
  parameter settings{};
  settings.solver_type = L2R_L2LOSS_SVC;
  settings.C = c;
  settings.eps = 1e-10;
  set_print_string_function([](const char*) {});
  model* trained = ::train(&data, &settings);
  LinearSvms svms = LinearSvms::zero(static_cast<std::size_t>(dimension), 1);
  const double sign = trained->label[0];  // whose side is positive
  for (int d = 0; d < dimension; ++d) svms.w(d, 0) = sign * trained->w[d];
  svms.b[0] = sign * trained->w[dimension];
  free_and_destroy_model(&trained);
  return svms;
}

TEST(LinearSvm, EqualsLiblinear) {
  for (const double c : {0.01, 1.0, 100.0}) {
    for (const double noise : {0.0, 0.5, 3.0}) {
      SvmCase made(7, 5, 600, noise, 3);
      const LinearSvmSolver solver(made.set, made.moments, {.c = c, .tolerance = 1e-9, .cg_accuracy = 0.01},
                                   made.threads);
      LinearSvms ours = LinearSvms::zero(7, 5);
      const auto outcome = solver.improve(made.labels, ours);
      EXPECT_LT(outcome.newton_steps, 60);
      for (std::size_t bit = 0; bit < 5; ++bit) {
        const auto k = static_cast<Eigen::Index>(bit);
        const LinearSvms theirs = liblinear(made, bit, c);
        VectorXd w(8);
        w << theirs.w, theirs.b;
        VectorXd v(8);
        v << ours.w.col(k), ours.b[k];
        const std::string where = fmt::format("C {}, noise {}, bit {}", c, noise, bit);
        EXPECT_LT((v - w).norm(), 2e-3 * w.norm()) << where;
        EXPECT_NEAR(outcome.objective[k] / objective(made, ours, bit, c), 1, 1e-5) << where;
        LinearSvms at = ours;
        at.w.col(k) = theirs.w;
        at.b[k] = theirs.b[0];
        EXPECT_LT(objective(made, ours, bit, c), objective(made, at, bit, c) * (1 + 1e-5)) << where;
      }
    }
  }
}

TEST(LinearSvm, ObjectiveAndGradientAreThoseOfTheFormula) {
  SvmCase made(4, 3, 300, 0.5, 5);
  const double c = 2.5;
  const LinearSvmSolver solver(made.set, made.moments, {.c = c}, made.threads);
  const LinearSvms svms = random_svms(4, 3, 0.4);
  const auto at = solver.evaluate(made.labels, svms);
  constexpr double kStep = 1e-5;
  for (std::size_t bit = 0; bit < 3; ++bit) {
    const auto k = static_cast<Eigen::Index>(bit);
    EXPECT_NEAR(at.objective[k] / objective(made, svms, bit, c), 1, 1e-6);
    const double size = at.gradient.col(k).norm();
    for (Eigen::Index d = 0; d <= 4; ++d) {
      LinearSvms up = svms;
      LinearSvms down = svms;
      (d < 4 ? up.w(d, k) : up.b[k]) += kStep;
      (d < 4 ? down.w(d, k) : down.b[k]) -= kStep;
      const double slope = (objective(made, up, bit, c) - objective(made, down, bit, c)) / (2 * kStep);
      EXPECT_NEAR(at.gradient(d, k), slope, 1e-4 * size) << "bit " << bit << ", weight " << d;
    }
  }
}

TEST(LinearSvm, EveryStepLowersTheObjectiveOfEveryBit) {
  SvmCase made(6, 9, 500, 1.0, 7);
  LinearSvms svms = random_svms(6, 9, 3);
  const LinearSvmSolver one_step(made.set, made.moments, {.c = 10, .newton_steps = 1}, made.threads);
  VectorXd last = one_step.evaluate(made.labels, svms).objective;
  for (int step = 0; step < 8; ++step) {
    const auto outcome = one_step.improve(made.labels, svms);
    EXPECT_LE((outcome.objective - last).maxCoeff(), 0.0) << step;
    if (step == 0) {
      EXPECT_LT((outcome.objective - last).maxCoeff(), 0.0);
    }
    EXPECT_LT((one_step.evaluate(made.labels, svms).objective - outcome.objective).cwiseAbs().maxCoeff(), 1e-9);
    last = outcome.objective;
  }
  // At the optimum there is nothing left to do.
  const LinearSvmSolver solver(made.set, made.moments, {.c = 10}, made.threads);
  solver.improve(made.labels, svms);
  const LinearSvms best = svms;
  EXPECT_EQ(solver.improve(made.labels, svms).newton_steps, 0);
  EXPECT_EQ(svms.w, best.w);
  EXPECT_LT(solver.evaluate(made.labels, svms).gradient.norm(),
            1e-2 * solver.evaluate(made.labels, LinearSvms::zero(6, 9)).gradient.norm());
}

// From zero, where all samples are within the margin, the preconditioner is the Hessian itself.
TEST(LinearSvm, FirstStepFromZeroIsRidgeRegression) {
  SvmCase made(5, 2, 400, 1.0, 9);
  std::vector<std::uint32_t> rows(made.x.size());
  std::iota(rows.begin(), rows.end(), 0U);
  const TrainingSet whole(made.x, rows, made.set.scaling());
  TargetCodes labels(2, whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) labels.bytes()[i] = made.labels.bytes()[i / 2];
  const double c = 3;
  const LinearSvmSolver solver(whole, made.moments, {.c = c, .newton_steps = 1, .cg_steps = 1}, made.threads);
  LinearSvms svms = LinearSvms::zero(5, 2);
  solver.improve(labels, svms);
  MatrixXf x(5, whole.size());
  whole.load(std::size_t{0}, whole.size(), x.data());
  MatrixXd features(6, whole.size());
  features << x.cast<double>(), MatrixXd::Ones(1, x.cols());
  MatrixXd y(2, whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) labels.unpack(i, y.col(static_cast<Eigen::Index>(i)).data());
  MatrixXd system = 2 * c * features * features.transpose();
  system.diagonal().array() += 1;
  MatrixXd found(6, 2);
  found << svms.w, svms.b.transpose();
  const MatrixXd rest = system * found - 2 * c * features * y.transpose();
  EXPECT_LT(rest.norm(), 1e-4 * (2 * c * features * y.transpose()).norm());
}

TEST(LinearSvm, ABitDoesNotDependOnThoseBesideItNorOnThreads) {
  SvmCase made(11, 13, 2 * (2 * 2048 + 5), 0.5, 11, 1);
  Threads three(3);
  LinearSvms alone = LinearSvms::zero(11, 13);
  LinearSvms threaded = alone;
  LinearSvmSolver(made.set, made.moments, {.newton_steps = 4}, made.threads).improve(made.labels, alone);
  LinearSvmSolver(made.set, made.moments, {.newton_steps = 4}, three).improve(made.labels, threaded);
  EXPECT_EQ(alone.w, threaded.w);
  EXPECT_EQ(alone.b, threaded.b);
  TargetCodes last(1, made.set.size());
  for (std::size_t i = 0; i < made.set.size(); ++i) {
    const auto label = static_cast<float>(made.label(i, 12));
    last.pack(i, 1, &label);
  }
  LinearSvms one = LinearSvms::zero(11, 1);
  LinearSvmSolver(made.set, made.moments, {.newton_steps = 4}, three).improve(last, one);
  EXPECT_EQ(one.w.col(0), alone.w.col(12));
}

TEST(LinearSvm, SeparatesTwoPointsInTheMiddle) {
  const Vectors x(1, 2, std::vector<float>{-3.0F, 1.0F});
  Threads threads(1);
  Progress silent;
  const Moments moments = moments_of(x, threads, silent);
  const TrainingSet set(x, {0, 1}, {VectorXd::Zero(1), 1});
  TargetCodes labels(2, 2);
  const float signs[] = {-1, 1, 1, 1};  // the second bit is the same for both
  labels.pack(0, 2, signs);
  LinearSvms svms = LinearSvms::zero(1, 2);
  LinearSvmSolver(set, moments, {.c = 1e5, .tolerance = 1e-12}, threads).improve(labels, svms);
  EXPECT_NEAR(svms.w(0, 0), 0.5, 1e-3);  // -3 w + b = -1, w + b = 1
  EXPECT_NEAR(svms.b[0], 0.5, 1e-3);
  EXPECT_GT(svms.b[1] - 3 * svms.w(0, 1), 0.99);
  EXPECT_GT(svms.b[1] + svms.w(0, 1), 0.99);
}

TEST(LinearSvm, NeedsACodeForEachSample) {
  SvmCase made(3, 2, 20, 0, 1);
  LinearSvms svms = LinearSvms::zero(3, 2);
  const LinearSvmSolver solver(made.set, made.moments, {}, made.threads);
  EXPECT_BDNN_ERROR(solver.improve(TargetCodes(2, 9), svms), misuse, "9 codes for 10 training samples");
}

}  // namespace
}  // namespace bdnn
