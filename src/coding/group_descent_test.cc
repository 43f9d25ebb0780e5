#include "coding/group_descent.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <limits>

#include "base/random.h"
#include "base/simd_target.h"

namespace bdnn {
namespace {

struct GroupProblem {
  BitGroups groups;
  MatrixXf columns;
  MatrixXf q;
  std::vector<std::uint8_t> codes;  // to start from

  std::size_t code_bytes() const { return (groups.bits() + 7) / 8; }
};

GroupProblem random_group_problem(std::size_t bits, std::size_t group, std::size_t dimension, std::size_t samples,
                                  std::uint64_t seed) {
  Random random(seed);
  const BitGroups groups(bits, group);
  GroupProblem problem{groups, MatrixXf(dimension, groups.columns()), {}, {}};
  for (float& entry : problem.columns.reshaped()) entry = static_cast<float>(random.normal());
  MatrixXf x(dimension, samples);
  for (float& entry : x.reshaped()) entry = static_cast<float>(2 * random.normal());
  problem.q = problem.columns.transpose() * x;
  problem.codes.resize(samples * problem.code_bytes());
  for (std::size_t i = 0; i < samples; ++i) {
    for (std::size_t g = 0; g < groups.count(); ++g) {
      groups.set(problem.codes.data() + i * problem.code_bytes(), g, random.below(groups.values(g)));
    }
  }
  return problem;
}

// From the definition.
double value(const GroupProblem& problem, std::size_t sample, const std::uint8_t* code) {
  VectorXd sum = VectorXd::Zero(problem.columns.rows());
  double linear = 0;
  for (std::size_t g = 0; g < problem.groups.count(); ++g) {
    const auto column = static_cast<Eigen::Index>(problem.groups.first_column(g) + problem.groups.value(code, g));
    sum += problem.columns.col(column).cast<double>();
    linear += static_cast<double>(problem.q(column, static_cast<Eigen::Index>(sample)));
  }
  return sum.squaredNorm() - 2 * linear;
}

std::vector<std::uint8_t> descend(const GroupProblem& problem, int local_search = 0) {
  std::vector<std::uint8_t> codes = problem.codes;
  GroupDescent(problem.groups, problem.columns, 1000, local_search)
      .run(problem.q.data(), static_cast<std::size_t>(problem.q.cols()), codes.data());
  return codes;
}

void expect_minima(const GroupProblem& problem) {
  const auto samples = static_cast<std::size_t>(problem.q.cols());
  const std::vector<std::uint8_t> codes = descend(problem);
  for (std::size_t i = 0; i < samples; ++i) {
    const std::uint8_t* code = codes.data() + i * problem.code_bytes();
    const double reached = value(problem, i, code);
    const double tolerance = 1e-4 * (1 + std::abs(reached));
    RC_ASSERT(reached <= value(problem, i, problem.codes.data() + i * problem.code_bytes()) + tolerance);
    for (std::size_t g = 0; g < problem.groups.count(); ++g) {
      for (std::size_t v = 0; v < problem.groups.values(g); ++v) {
        std::vector<std::uint8_t> other(code, code + problem.code_bytes());
        problem.groups.set(other.data(), g, v);
        RC_ASSERT(reached <= value(problem, i, other.data()) + tolerance);
      }
    }
  }
}

class GroupDescentTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_target(GetParam()); }
  void TearDown() override { force_simd_target(""); }
};

TEST_P(GroupDescentTest, NeverMakesACodeWorseAndEndsWhereNoOtherValueHelps) {
  EXPECT_TRUE(rc::check([] {
    const auto group = *rc::gen::element<std::size_t>(4, 8);
    const auto bits = *rc::gen::inRange<std::size_t>(1, group == 4 ? 40 : 30);
    expect_minima(random_group_problem(bits, group, *rc::gen::inRange<std::size_t>(1, 20), 4,
                                       *rc::gen::arbitrary<std::uint64_t>()));
  }));
}

TEST_P(GroupDescentTest, NumbersThatAreNotFiniteLeaveACodeAsItIs) {
  for (const std::size_t bits : {8, 13, 21}) {
    for (const std::size_t group : {4, 8}) {
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()}) {
        GroupProblem problem = random_group_problem(bits, group, 5, 3, 1);
        problem.q.setConstant(bad);
        EXPECT_EQ(descend(problem, 3), problem.codes);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GroupDescentTest, ::testing::ValuesIn(simd_targets()),
                         [](const auto& target) { return target.param; });

// A group whose columns are small beside those of another is chosen as well.
TEST(GroupDescent, SmallColumnsAreNotTakenForRounding) {
  GroupProblem problem = random_group_problem(16, 8, 12, 30, 3);
  const MatrixXf x = problem.q.topRows(12);
  problem.columns.leftCols(256) *= 1000;
  problem.columns.rightCols(256) *= 0.3F;
  problem.q = problem.columns.transpose() * x;
  const std::vector<std::uint8_t> codes = descend(problem);
  for (std::size_t i = 0; i < 30; ++i) {
    const double reached = value(problem, i, codes.data() + 2 * i);
    for (unsigned v = 0; v < 256; ++v) {
      const std::array other{codes[2 * i], static_cast<std::uint8_t>(v)};
      ASSERT_LE(reached, value(problem, i, other.data()) + 0.5);
    }
  }
}

TEST(GroupDescent, ASampleDoesNotDependOnThoseBesideIt) {
  const GroupProblem problem = random_group_problem(28, 8, 30, 37, 7);
  const std::vector<std::uint8_t> together = descend(problem, 5);
  const GroupDescent descent(problem.groups, problem.columns, 1000, 5);
  for (std::size_t i = 0; i < 37; ++i) {
    std::vector<std::uint8_t> alone(problem.codes.begin() + 4 * i, problem.codes.begin() + 4 * i + 4);
    descent.run(problem.q.col(static_cast<Eigen::Index>(i)).data(), 1, alone.data());
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + 4 * i)) << i;
  }
}

RC_GTEST_PROP(GroupDescent, MoreRoundsOfLocalSearchAreNoWorse, ()) {
  const auto bits = *rc::gen::inRange<std::size_t>(1, 70);
  const GroupProblem problem = random_group_problem(bits, *rc::gen::element<std::size_t>(4, 8), bits / 2 + 3, 20,
                                                    *rc::gen::arbitrary<std::uint64_t>());
  double last = std::numeric_limits<double>::max();
  for (const int rounds : {0, 1, 5, 30}) {
    const std::vector<std::uint8_t> codes = descend(problem, rounds);
    double sum = 0;
    for (std::size_t i = 0; i < 20; ++i) sum += value(problem, i, codes.data() + i * problem.code_bytes());
    RC_ASSERT(sum <= last + 1e-4 * std::abs(last));
    last = sum;
  }
}

TEST(GroupDescent, LocalSearchFindsTheBestCodeWhereDescentAloneDoesNot) {
  const std::size_t samples = 100;
  const GroupProblem problem = random_group_problem(12, 4, 6, samples, 5);
  const auto found = [&](int rounds) {
    const std::vector<std::uint8_t> codes = descend(problem, rounds);
    int count = 0;
    for (std::size_t i = 0; i < samples; ++i) {
      double best = std::numeric_limits<double>::max();
      for (unsigned code = 0; code < 1U << 12U; ++code) {
        const std::array bytes{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(code >> 8U)};
        best = std::min(best, value(problem, i, bytes.data()));
      }
      count += value(problem, i, codes.data() + 2 * i) <= best + 1e-3 * std::abs(best) ? 1 : 0;
    }
    return count;
  };
  EXPECT_LT(found(0), 90);
  EXPECT_GE(found(500), 95);
}

}  // namespace
}  // namespace bdnn
