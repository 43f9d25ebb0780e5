#include "linalg/matrix.h"

#include <gtest/gtest.h>

namespace bdnn {
namespace {

TEST(MirrorLowerHalf, LeavesTheLowerHalfAndRepeatsItAbove) {
  for (const Eigen::Index size : {0, 1, 2, 31, 32, 33, 64, 100}) {
    MatrixXd lower = MatrixXd::Random(size, size);
    const MatrixXd expected = lower.selfadjointView<Eigen::Lower>();
    mirror_lower_half(lower);
    EXPECT_EQ(lower, expected) << size;
  }
}

}  // namespace
}  // namespace bdnn
