#include "base/simd_target.h"

#include <gtest/gtest.h>

#include "expect_error.h"

namespace bdnn {
namespace {

TEST(SimdTarget, EveryTargetOfThisMachineCanBeForced) {
  const auto targets = simd_targets();
  ASSERT_FALSE(targets.empty());
  const std::string usual = simd_target();
  for (const auto& target : targets) {
    force_simd_target(target);
    EXPECT_EQ(simd_target(), target);
  }
  force_simd_target("");
  EXPECT_EQ(simd_target(), usual);
}

TEST(SimdTarget, AnUnknownOneIsAnErrorThatListsTheOthers) {
  EXPECT_BDNN_ERROR(force_simd_target("MMX"), misuse, "this machine and build have " + simd_targets().front());
  force_simd_target("");
}

}  // namespace
}  // namespace bdnn
