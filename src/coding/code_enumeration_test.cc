#include "coding/code_enumeration.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "coding/signs_testing.h"
#include "expect_error.h"

namespace bdnn {
namespace {

using testing::signs_of;

RC_GTEST_PROP(CodeEnumeration, EqualsExhaustiveSearch, ()) {
  const auto bits = *rc::gen::inRange<std::size_t>(1, 11);
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  MatrixXd w(bits + 2, bits);
  for (double& entry : w.reshaped()) entry = random.normal();
  const MatrixXd gram = w.transpose() * w;
  MatrixXf q(bits, 5);
  for (float& entry : q.reshaped()) entry = static_cast<float>(3 * random.normal());
  MatrixXf b = MatrixXf::Ones(q.rows(), q.cols());
  CodeEnumeration(gram).run(q.data(), 5, b.data());
  for (Eigen::Index i = 0; i < 5; ++i) {
    const auto value = [&](const VectorXd& code) {
      return code.dot(gram * code) - 2 * q.col(i).cast<double>().dot(code);
    };
    double best = std::numeric_limits<double>::max();
    for (unsigned code = 0; code < 1U << bits; ++code) best = std::min(best, value(signs_of(code, bits)));
    RC_ASSERT(b.col(i).cwiseAbs() == VectorXf::Ones(b.rows()));
    RC_ASSERT(value(b.col(i).cast<double>()) <= best + 1e-4 * (1 + std::abs(best)));
  }
}

TEST(CodeEnumeration, ACodeStaysWhereNoneIsBetter) {
  const MatrixXd gram = MatrixXd::Identity(3, 3);
  const MatrixXf q = MatrixXf::Zero(3, 2);
  MatrixXf b(3, 2);
  b << 1, -1, -1, 1, -1, -1;
  const MatrixXf before = b;
  CodeEnumeration(gram).run(q.data(), 2, b.data());
  EXPECT_EQ(b, before);
}

TEST(CodeEnumeration, FindsWhatOnlyTwoFlipsAtOnceWouldImprove) {
  // b1 and b2 want to differ from each other, much more than each wants its sign.
  MatrixXd gram(2, 2);
  gram << 1, 0.9, 0.9, 1;
  const VectorXf q = (VectorXf(2) << 0.2F, -0.2F).finished();
  VectorXf b = (VectorXf(2) << -1.0F, 1.0F).finished();
  CodeEnumeration(gram).run(q.data(), 1, b.data());
  EXPECT_EQ(b, (VectorXf(2) << 1.0F, -1.0F).finished());
}

TEST(CodeEnumeration, IsForFewBits) {
  EXPECT_BDNN_ERROR(CodeEnumeration(MatrixXd::Identity(17, 17)), misuse, "17 bits have too many codes");
}

}  // namespace
}  // namespace bdnn
