#include "coding/code_descent.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <numeric>

#include "base/random.h"
#include "base/simd_target.h"
#include "coding/signs_testing.h"

namespace bdnn {
namespace {

using testing::signs_of;

struct Problem {
  MatrixXd gram;
  MatrixXf q;
};

// Samples x rebuilt as W b, with W (dimension x bits) at random; `overlap` mixes one direction into all of them.
Problem random_problem(std::size_t bits, std::size_t dimension, std::size_t samples, double overlap,
                       std::uint64_t seed) {
  Random random(seed);
  MatrixXd w(dimension, bits);
  for (double& entry : w.reshaped()) entry = random.normal();
  w.colwise() += overlap * VectorXd::Ones(w.rows());
  MatrixXd x(dimension, samples);
  for (double& entry : x.reshaped()) entry = 2 * random.normal();
  return {w.transpose() * w, (w.transpose() * x).cast<float>()};
}

double value(const Problem& problem, Eigen::Index sample, const VectorXd& b) {
  return b.dot(problem.gram * b) - 2 * problem.q.col(sample).cast<double>().dot(b);
}

MatrixXf signs(const MatrixXf& h) {
  return h.unaryExpr([](float v) { return v >= 0 ? 1.0F : -1.0F; });
}

RC_GTEST_PROP(CodeDescent, NeverMakesACodeWorseAndEndsWhereNoFlipHelps, ()) {
  const auto bits = *rc::gen::inRange<std::size_t>(1, 40);
  const auto samples = *rc::gen::inRange<std::size_t>(1, 50);
  const Problem problem = random_problem(bits, bits + 3, samples, 0.3, *rc::gen::arbitrary<std::uint64_t>());
  const MatrixXf start = signs(problem.q);
  MatrixXf b = start;
  CodeDescent(problem.gram, 1000).run(problem.q.data(), samples, b.data());
  for (Eigen::Index i = 0; i < b.cols(); ++i) {
    const VectorXd code = b.col(i).cast<double>();
    RC_ASSERT(code.cwiseAbs() == VectorXd::Ones(code.size()));
    const double reached = value(problem, i, code);
    const double tolerance = 1e-4 * (1 + std::abs(reached));
    RC_ASSERT(reached <= value(problem, i, start.col(i).cast<double>()) + tolerance);
    for (Eigen::Index k = 0; k < code.size(); ++k) {
      VectorXd flipped = code;
      flipped[k] = -flipped[k];
      RC_ASSERT(reached <= value(problem, i, flipped) + tolerance);
    }
  }
}

TEST(CodeDescent, FindsTheBestCodeWhereColumnsAreOrthogonal) {
  Problem problem = random_problem(10, 10, 64, 0, 3);
  problem.gram = MatrixXd::Identity(10, 10) * 2.5;
  MatrixXf b = MatrixXf::Zero(10, 64);
  CodeDescent(problem.gram, 10).run(problem.q.data(), 64, b.data());
  EXPECT_EQ(b, signs(problem.q));
}

// Coordinate descent may end in a code that only two flips at once would improve. Where samples do come from codes,
// with noise, it mostly finds the best of all 2^L.
TEST(CodeDescent, MostlyEqualsExhaustiveSearchWhereSamplesComeFromCodes) {
  Random random(11);
  for (std::size_t bits = 2; bits <= 10; ++bits) {
    const std::size_t samples = 100;
    const std::size_t dimension = 8 * bits;
    MatrixXd w(dimension, bits);
    for (double& entry : w.reshaped()) entry = random.normal();
    MatrixXd x(dimension, samples);
    for (Eigen::Index i = 0; i < x.cols(); ++i) {
      x.col(i) = w * signs_of(static_cast<unsigned>(random.below(1U << bits)), bits);
      for (double& entry : x.col(i)) entry += random.normal();
    }
    const Problem problem{w.transpose() * w, (w.transpose() * x).cast<float>()};
    MatrixXf b = signs(problem.q);
    CodeDescent(problem.gram, 1000).run(problem.q.data(), samples, b.data());
    int found = 0;
    for (Eigen::Index i = 0; i < b.cols(); ++i) {
      double best = std::numeric_limits<double>::max();
      for (unsigned code = 0; code < 1U << bits; ++code) best = std::min(best, value(problem, i, signs_of(code, bits)));
      const double reached = value(problem, i, b.col(i).cast<double>());
      EXPECT_GE(reached, best - 1e-3 * std::abs(best));
      found += reached <= best + 1e-3 * std::abs(best) ? 1 : 0;
    }
    EXPECT_GE(found, 95) << bits << " bits";
  }
}

TEST(CodeDescent, ASampleDoesNotDependOnThoseBesideIt) {
  const Problem problem = random_problem(24, 30, 37, 0.2, 7);
  const CodeDescent descent(problem.gram, 100, 5);
  MatrixXf together = MatrixXf::Zero(24, 37);
  descent.run(problem.q.data(), 37, together.data());
  for (Eigen::Index i = 0; i < 37; ++i) {
    MatrixXf alone = MatrixXf::Zero(24, 1);
    descent.run(problem.q.col(i).data(), 1, alone.data());
    EXPECT_EQ(alone, together.col(i)) << i;
  }
}

TEST(CodeDescent, AnUndecidedBitStaysAndIsPlusOneWhereItWasZero) {
  const MatrixXd gram = MatrixXd::Identity(3, 3);
  const MatrixXf q = MatrixXf::Zero(3, 2);
  MatrixXf b(3, 2);
  b << 1, 0, -1, 0, -1, 0;
  CodeDescent(gram, 5, 3).run(q.data(), 2, b.data());
  EXPECT_EQ(b, (MatrixXf(3, 2) << 1, 1, -1, 1, -1, 1).finished());
}

RC_GTEST_PROP(CodeDescent, LocalSearchNeverMakesACodeWorseAndMoreRoundsAreNoWorse, ()) {
  const auto bits = *rc::gen::inRange<std::size_t>(1, 150);
  const Problem problem = random_problem(bits, bits / 2 + 3, 20, 0.3, *rc::gen::arbitrary<std::uint64_t>());
  const MatrixXf start = signs(problem.q);
  double last = std::numeric_limits<double>::max();
  for (const int rounds : {0, 1, 5, 30}) {
    MatrixXf b = start;
    CodeDescent(problem.gram, 1000, rounds).run(problem.q.data(), 20, b.data());
    double sum = 0;
    for (Eigen::Index i = 0; i < b.cols(); ++i) {
      RC_ASSERT(b.col(i).cwiseAbs() == VectorXf::Ones(b.rows()));
      sum += value(problem, i, b.col(i).cast<double>());
    }
    RC_ASSERT(sum <= last + 1e-4 * std::abs(last));
    last = sum;
  }
}

TEST(CodeDescent, LocalSearchFindsTheBestCodeWhereDescentAloneDoesNot) {
  const std::size_t bits = 10;
  const std::size_t samples = 200;
  const Problem problem = random_problem(bits, 8, samples, 0.5, 5);
  const auto found = [&](int rounds) {
    MatrixXf b = signs(problem.q);
    CodeDescent(problem.gram, 1000, rounds).run(problem.q.data(), samples, b.data());
    int count = 0;
    for (Eigen::Index i = 0; i < b.cols(); ++i) {
      double best = std::numeric_limits<double>::max();
      for (unsigned code = 0; code < 1U << bits; ++code) best = std::min(best, value(problem, i, signs_of(code, bits)));
      count += value(problem, i, b.col(i).cast<double>()) <= best + 1e-3 * std::abs(best) ? 1 : 0;
    }
    return count;
  };
  EXPECT_LT(found(0), 150);
  EXPECT_GE(found(200), 195);
}

// One sample's descent, bit by bit in plain floats, which all targets agree with: every product is by 1, 2 or 4.
class NaiveDescent {
 public:
  NaiveDescent(const Problem& problem, int sweeps, int local_search)
      : gram_(problem.gram.cast<float>()), sweeps_(sweeps), local_search_(local_search) {
    gram_.diagonal().setZero();
  }

  VectorXf run(const VectorXf& q, const VectorXf& start) const {
    State at{q, start};
    for (Eigen::Index k = 0; k < q.size(); ++k) at.r[k] -= sum(k, start);
    if (start[0] == 0) {
      for (Eigen::Index k = 0; k < q.size(); ++k) change(at, k, at.r[k] >= 0 ? 1.0F : -1.0F);
    }
    descend(at);
    const auto bits = static_cast<std::size_t>(q.size());
    std::vector<Eigen::Index> order(bits);
    std::iota(order.begin(), order.end(), 0);
    Random random(bits);
    for (int round = 0; round < local_search_; ++round) {
      State trial = at;
      float gain = 0;
      for (std::size_t i = 0; i < std::min<std::size_t>(4, (bits + 1) / 2); ++i) {
        std::swap(order[i], order[i + random.below(bits - i)]);
        gain += flip(trial, order[i]);
      }
      gain += descend(trial);
      if (gain < 0) at = trial;
    }
    return at.b;
  }

 private:
  struct State {
    VectorXf r;
    VectorXf b;
  };

  float sum(Eigen::Index k, const VectorXf& b) const {
    float total = 0;
    for (Eigen::Index j = 0; j < b.size(); ++j) total += gram_(k, j) * b[j];
    return total;
  }

  void change(State& at, Eigen::Index k, float to) const {
    for (Eigen::Index j = 0; j < at.r.size(); ++j) at.r[j] -= gram_(j, k) * (to - at.b[k]);
    at.b[k] = to;
  }

  float flip(State& at, Eigen::Index k) const {
    const float gain = 4 * at.b[k] * at.r[k];
    change(at, k, -at.b[k]);
    return gain;
  }

  float descend(State& at) const {
    float gain = 0;
    for (int sweep = 0; sweep < sweeps_; ++sweep) {
      for (Eigen::Index k = 0; k < at.r.size(); ++k) {
        if (at.r[k] * at.b[k] < 0) gain += flip(at, k);
      }
    }
    return gain;
  }

  MatrixXf gram_;
  int sweeps_;
  int local_search_;
};

class CodeDescentOnTarget : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_target(GetParam()); }
  void TearDown() override { force_simd_target(""); }
};

TEST_P(CodeDescentOnTarget, EqualsANaiveDescent) {
  for (const std::size_t bits : {1, 7, 16, 17, 63, 64, 65, 130, 200}) {
    const Problem problem = random_problem(bits, bits / 2 + 3, 10, 0.3, bits);
    for (const int sweeps : {1, 2, 20}) {
      for (const int local_search : {0, 6}) {
        const NaiveDescent naive(problem, sweeps, local_search);
        for (const MatrixXf& start : {signs(problem.q), MatrixXf(MatrixXf::Zero(problem.q.rows(), 10))}) {
          MatrixXf b = start;
          CodeDescent(problem.gram, sweeps, local_search).run(problem.q.data(), 10, b.data());
          for (Eigen::Index i = 0; i < 10; ++i) {
            EXPECT_EQ(b.col(i), naive.run(problem.q.col(i), start.col(i)))
                << bits << " bits, " << sweeps << " sweeps, " << local_search << " rounds, sample " << i;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CodeDescentOnTarget, ::testing::ValuesIn(simd_targets()),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace bdnn
