// Runs under ThreadSanitizer: sums and gradients are taken over blocks of samples on several threads.
// The objective and its gradient against the paper's formulas written out, and against finite differences.
#include "learn/objective.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/random.h"
#include "learn/network_start.h"
#include "methods/sh_bdnn/pairwise_labels.h"
#include "methods/uh_bdnn/reconstruction_term.h"

namespace bdnn {
namespace {

struct NoTerm final : Similarity {
  double evaluate(const OutputSums&, OutputGradient&) const override { return 0; }
};

struct ObjectiveCase {
  std::size_t samples;
  Vectors x;
  LayerSizes sizes;
  std::vector<double> parameters;
  TargetCodes codes;
  std::vector<std::int64_t> labels;

  TrainingSet set() const {
    std::vector<std::uint32_t> rows(samples);
    for (std::size_t i = 0; i < samples; ++i) rows[i] = static_cast<std::uint32_t>(i);
    return {x, rows, {VectorXd::Zero(static_cast<Eigen::Index>(x.dimension())), 1}};
  }
};

// Random samples and parameters; labels 7, -3, 100, ... of uneven classes and, with `unlabelled`, some -1.
ObjectiveCase random_case(std::vector<std::size_t> units, std::size_t samples, std::uint64_t seed,
                          bool unlabelled = false, LayerSizes::Path path = LayerSizes::Path::none) {
  Random random(seed);
  std::vector<float> values(units.front() * samples);
  for (auto& value : values) value = static_cast<float>(random.normal());
  LayerSizes sizes(units, path);
  std::vector<double> parameters(sizes.parameters());
  for (auto& value : parameters) value = random.normal();
  TargetCodes codes(units.back(), samples);
  std::vector<float> signs(units.back());
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < samples; ++i) {
    for (auto& sign : signs) sign = static_cast<float>(random.normal());
    codes.pack(i, 1, signs.data());
    const std::int64_t choices[] = {7, 7, 7, -3, 100, 100};
    labels.push_back(unlabelled && random.below(4) == 0 ? -1 : choices[random.below(6)]);
  }
  labels[0] = 7;
  labels[1] = -3;
  return {samples, {units.front(), samples, std::move(values)}, sizes, std::move(parameters), std::move(codes), labels};
}

// H, by the paper's definition of the layers.
MatrixXd outputs(const ObjectiveCase& made) {
  std::vector<float> scratch;
  MatrixXd h = view(made.x.floats(0, made.samples, nullptr), made.x.dimension(), made.samples).cast<double>();
  for (std::size_t l = 0; l < made.sizes.count(); ++l) {
    const Eigen::Map<const MatrixXd> w(made.parameters.data() + made.sizes.weights(l),
                                       static_cast<Eigen::Index>(made.sizes.outputs(l)),
                                       static_cast<Eigen::Index>(made.sizes.inputs(l)));
    const Eigen::Map<const VectorXd> c(made.parameters.data() + made.sizes.biases(l),
                                       static_cast<Eigen::Index>(made.sizes.outputs(l)));
    const MatrixXd z = (w * h).colwise() + c;
    h = l + 1 < made.sizes.count() ? MatrixXd(z.unaryExpr([](double v) { return 1 / (1 + std::exp(-v)); })) : z;
  }
  if (made.sizes.has_linear_path()) {
    const Eigen::Map<const MatrixXd> a(made.parameters.data() + made.sizes.linear_path(),
                                       static_cast<Eigen::Index>(made.sizes.bits()),
                                       static_cast<Eigen::Index>(made.sizes.dimension()));
    h += a * view(made.x.floats(0, made.samples, nullptr), made.x.dimension(), made.samples).cast<double>();
  }
  return h;
}

MatrixXd target(const ObjectiveCase& made) {
  MatrixXd b(made.sizes.bits(), made.samples);
  for (std::size_t i = 0; i < made.samples; ++i) made.codes.unpack(i, b.col(static_cast<Eigen::Index>(i)).data());
  return b;
}

const Lambdas kLambdas{0.3, 0.7, 0.9, 0.011};

TEST(Objective, TermsAreThePapersFormulas) {
  const ObjectiveCase made = random_case({6, 5, 4, 3}, 150, 1);
  Threads threads(2);
  const NoTerm none;
  Objective<double> objective(made.sizes, kLambdas, none, made.codes, made.samples, threads);
  const TrainingSet set = made.set();
  const Terms terms = objective.evaluate(made.parameters.data(), whole<double>(set));
  const MatrixXd h = outputs(made);
  const double m = static_cast<double>(made.samples);
  double squares = 0;
  for (std::size_t l = 0; l < made.sizes.count(); ++l) {
    for (std::size_t i = made.sizes.weights(l); i < made.sizes.biases(l); ++i) {
      squares += made.parameters[i] * made.parameters[i];
    }
  }
  EXPECT_NEAR(terms.weights, 0.3 / 2 * squares, 1e-9);
  EXPECT_NEAR(terms.binary, 0.7 / (2 * m) * (h - target(made)).squaredNorm(), 1e-9);
  EXPECT_NEAR(terms.independence, 0.9 / 2 * (h * h.transpose() / m - MatrixXd::Identity(3, 3)).squaredNorm(), 1e-9);
  EXPECT_NEAR(terms.balance, 0.011 / (2 * m) * h.rowwise().sum().squaredNorm(), 1e-9);
  EXPECT_NEAR(terms.differing, static_cast<double>((h.array().sign() != target(made).array()).count()) / (3 * m),
              1e-12);
  EXPECT_EQ(terms.total(), terms.weights + terms.binary + terms.independence + terms.balance);
}

// Each term alone, so that a large one does not hide a small one.
void expect_gradient_is_right(const ObjectiveCase& made, const Lambdas& lambdas, const Similarity& similarity) {
  Threads threads(2);
  Objective<double> objective(made.sizes, lambdas, similarity, made.codes, made.samples, threads);
  const TrainingSet set = made.set();
  const Batch<double> batch = whole<double>(set);
  std::vector<double> gradient(made.parameters.size());
  objective.evaluate(made.parameters.data(), batch, gradient.data());
  double scale = 0;
  for (const double g : gradient) scale = std::max(scale, std::abs(g));
  ASSERT_GT(scale, 0);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    auto moved = made.parameters;
    const double step = 1e-5;
    moved[i] = made.parameters[i] + step;
    const double above = objective.evaluate(moved.data(), batch).total();
    moved[i] = made.parameters[i] - step;
    const double below = objective.evaluate(moved.data(), batch).total();
    ASSERT_NEAR(gradient[i], (above - below) / (2 * step), 1e-6 * scale) << "parameter " << i;
  }
}

RC_GTEST_PROP(Objective, GradientOfEveryTermAgreesWithFiniteDifferences, ()) {
  std::vector<std::size_t> units = {*rc::gen::inRange<std::size_t>(4, 9)};
  const auto depth = *rc::gen::inRange<std::size_t>(1, 5);
  for (std::size_t l = 0; l < depth; ++l) units.push_back(*rc::gen::inRange<std::size_t>(1, units.back() + 1));
  const ObjectiveCase made =
      random_case(units, *rc::gen::inRange<std::size_t>(5, 300), *rc::gen::arbitrary<std::uint64_t>(), true,
                  *rc::gen::element(LayerSizes::Path::none, LayerSizes::Path::linear));
  const NoTerm none;
  for (const Lambdas& lambdas : {Lambdas{0.3, 0, 0, 0}, Lambdas{0.3, 0, 0, 0, 0.8}, Lambdas{0, 0.7, 0, 0},
                                 Lambdas{0, 0, 0.9, 0}, Lambdas{0, 0, 0, 0.011}}) {
    expect_gradient_is_right(made, lambdas, none);
  }
  expect_gradient_is_right(made, {}, PairwiseLabels(made.labels, units.back(), 0.8));
  expect_gradient_is_right(made, kLambdas, PairwiseLabels(made.labels, units.back(), 0.8));
}

// The pairwise term with the m x m matrix S formed, as the paper writes it.
TEST(PairwiseLabelsTerm, EqualsThePairwiseForm) {
  for (const bool unlabelled : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const ObjectiveCase made = random_case({7, 5, 6}, 90, seed, unlabelled);
      const double weight = 1.3;
      const PairwiseLabels term(made.labels, 6, weight);
      Threads threads(1);
      Objective<double> objective(made.sizes, {}, term, made.codes, made.samples, threads);
      const TrainingSet set = made.set();
      std::vector<double> gradient(made.parameters.size());
      const double fast = objective.evaluate(made.parameters.data(), whole<double>(set), gradient.data()).similarity;

      MatrixXd h = outputs(made);
      const double m = static_cast<double>(made.samples);
      MatrixXd v = h.transpose() * h / 6;
      for (Eigen::Index i = 0; i < v.rows(); ++i) {
        for (Eigen::Index j = 0; j < v.cols(); ++j) {
          const auto a = made.labels[static_cast<std::size_t>(i)];
          const auto b = made.labels[static_cast<std::size_t>(j)];
          v(i, j) = a == -1 || b == -1 ? 0 : v(i, j) - (a == b ? 1 : -1);
        }
      }
      const double slow = weight / (2 * m) * v.squaredNorm();
      EXPECT_NEAR(fast, slow, 1e-10 * slow) << unlabelled << " " << seed;
      // dJ/dH = (w / mL) H (V + V^T), followed back through the last layer's biases.
      const MatrixXd at_outputs = weight / (m * 6) * h * (v + v.transpose());
      const VectorXd bias = at_outputs.rowwise().sum();
      const Eigen::Map<const VectorXd> ours(gradient.data() + made.sizes.biases(1), 6);
      EXPECT_LT((ours - bias).norm(), 1e-10 * at_outputs.norm() * std::sqrt(m)) << unlabelled << " " << seed;
    }
  }
}

TEST(Objective, SumsDoNotDependOnThreadsOrOnWhetherAGradientIsAskedFor) {
  const ObjectiveCase made = random_case({20, 9, 5}, 5000, 3, true);
  const PairwiseLabels term(made.labels, 5, 1);
  const std::vector<float> parameters(made.parameters.begin(), made.parameters.end());
  const TrainingSet set = made.set();
  std::vector<double> first;
  double value = 0;
  for (const int count : {1, 2, 3}) {
    Threads threads(count);
    Objective<float> objective(made.sizes, kLambdas, term, made.codes, made.samples, threads);
    std::vector<double> gradient(parameters.size());
    const double total = objective.evaluate(parameters.data(), whole<float>(set), gradient.data()).total();
    EXPECT_EQ(objective.evaluate(parameters.data(), whole<float>(set)).total(), total);
    if (count == 1) {
      first = gradient;
      value = total;
    }
    EXPECT_EQ(gradient, first) << count;
    EXPECT_EQ(total, value) << count;
  }
}

// A batch stands for all samples: with the whole set as a batch in another order, nothing changes but rounding.
TEST(Objective, ABatchOfAllSamplesIsTheWhole) {
  const ObjectiveCase made = random_case({6, 4, 3}, 500, 9, true);
  const PairwiseLabels term(made.labels, 3, 1);
  Threads threads(1);
  Objective<double> objective(made.sizes, kLambdas, term, made.codes, made.samples, threads);
  const TrainingSet set = made.set();
  std::vector<double> expected(made.parameters.size());
  const double total = objective.evaluate(made.parameters.data(), whole<double>(set), expected.data()).total();
  std::vector<std::uint32_t> order(500);
  for (std::size_t i = 0; i < 500; ++i) order[i] = static_cast<std::uint32_t>((i * 7) % 500);
  const Batch<double> batch{500, order.data(), [&](std::size_t first, std::size_t count, std::vector<double>& scratch) {
                              scratch.resize(count * 6);
                              for (std::size_t i = 0; i < count; ++i)
                                set.load(order[first + i], 1, scratch.data() + i * 6);
                              return scratch.data();
                            }};
  std::vector<double> gradient(made.parameters.size());
  EXPECT_NEAR(objective.evaluate(made.parameters.data(), batch, gradient.data()).total(), total, 1e-12 * total);
  for (std::size_t i = 0; i < gradient.size(); ++i) EXPECT_NEAR(gradient[i], expected[i], 1e-11);
}

// Running sums stand for all samples in every term and in each sample's gradient; written out with the paper's
// formulas.
TEST(Objective, BlendsABatchIntoRunningSums) {
  const ObjectiveCase made = random_case({6, 4, 3}, 300, 5);
  const Lambdas lambdas{0, 0.7, 0.9, 0.011};
  const NoTerm none;
  Threads threads(2);
  Objective<double> objective(made.sizes, lambdas, none, made.codes, made.samples, threads);
  const TrainingSet set = made.set();
  const auto batch_of = [&](std::size_t begin, std::size_t size, std::vector<std::uint32_t>& order) {
    order.resize(size);
    for (std::size_t i = 0; i < size; ++i) order[i] = static_cast<std::uint32_t>(begin + i);
    return Batch<double>{size, order.data(),
                         [&set, begin](std::size_t first, std::size_t count, std::vector<double>& scratch) {
                           scratch.resize(count * set.dimension());
                           set.load(begin + first, count, scratch.data());
                           return scratch.data();
                         }};
  };
  std::vector<std::uint32_t> first_order, second_order;
  OutputSums running = objective.no_sums();
  std::vector<double> gradient(made.parameters.size());
  objective.evaluate(made.parameters.data(), batch_of(0, 100, first_order), gradient.data(), &running, 1);
  const double blend = 0.3;
  const Terms terms =
      objective.evaluate(made.parameters.data(), batch_of(100, 50, second_order), gradient.data(), &running, blend);

  const double m = 300;
  const MatrixXd all_h = outputs(made);
  const MatrixXd gaps = all_h - target(made);
  const auto blended = [&](const auto& sum_over) {
    return ((1 - blend) * m / 100 * sum_over(0, 100) + blend * m / 50 * sum_over(100, 50)).eval();
  };
  const MatrixXd hh = blended([&](int begin, int size) {
    return MatrixXd(all_h.middleCols(begin, size) * all_h.middleCols(begin, size).transpose());
  });
  const VectorXd h1 =
      blended([&](int begin, int size) { return VectorXd(all_h.middleCols(begin, size).rowwise().sum()); });
  const double gap = (1 - blend) * m / 100 * gaps.leftCols(100).squaredNorm() +
                     blend * m / 50 * gaps.middleCols(100, 50).squaredNorm();
  EXPECT_NEAR(running.samples, m, 1e-9);
  EXPECT_LT((running.hh - hh).norm(), 1e-10 * hh.norm());
  EXPECT_LT((running.class_sums.col(0) - h1).norm(), 1e-10 * h1.norm());
  const MatrixXd dependence = hh / m - MatrixXd::Identity(3, 3);
  EXPECT_NEAR(terms.binary, 0.7 / (2 * m) * gap, 1e-9);
  EXPECT_NEAR(terms.independence, 0.9 / 2 * dependence.squaredNorm(), 1e-9);
  EXPECT_NEAR(terms.balance, 0.011 / (2 * m) * h1.squaredNorm(), 1e-9);

  // The last biases' gradient is the sum of dJ/dh over the batch's own samples.
  const MatrixXd h = all_h.middleCols(100, 50);
  MatrixXd at_outputs = 0.7 / m * gaps.middleCols(100, 50) + 2 * 0.9 / m * dependence * h;
  at_outputs.colwise() += 0.011 / m * h1;
  const VectorXd expected = m / 50 * at_outputs.rowwise().sum();
  const Eigen::Map<const VectorXd> ours(gradient.data() + made.sizes.biases(1), 3);
  EXPECT_LT((ours - expected).norm(), 1e-10 * expected.norm());
}

// The last layer in closed form is the minimum of the terms it is fitted to: their gradient there is zero.
TEST(Objective, AFittedLastLayerHasZeroGradient) {
  const ObjectiveCase made = random_case({6, 5, 4, 3}, 5000, 3);
  const Lambdas lambdas{0.03, 0.7, 0, 0};
  const TrainingSet set = made.set();
  Threads threads(2);
  std::vector<float> parameters(made.parameters.begin(), made.parameters.end());
  fit_last_layer(made.sizes, set, made.codes, lambdas.weights / lambdas.binary, threads, parameters);
  const NoTerm none;
  Objective<double> objective(made.sizes, lambdas, none, made.codes, made.samples, threads);
  const std::vector<double> fitted(parameters.begin(), parameters.end());
  std::vector<double> gradient(fitted.size());
  objective.evaluate(fitted.data(), whole<double>(set), gradient.data());
  for (std::size_t i = 0; i < made.sizes.weights(2); ++i) EXPECT_EQ(fitted[i], static_cast<float>(made.parameters[i]));
  for (std::size_t i = made.sizes.weights(2); i < gradient.size(); ++i) EXPECT_NEAR(gradient[i], 0, 1e-6);
}

}  // namespace
}  // namespace bdnn
