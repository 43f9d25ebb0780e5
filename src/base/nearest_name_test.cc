#include "base/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace bdnn {
namespace {

TEST(NearestName, IsTheOneWithFewestEdits) {
  const std::vector<std::string> known = {"--data", "--database", "--database-labels", "--model", "-k"};
  EXPECT_EQ(nearest_name("--dta", known), "--data");
  EXPECT_EQ(nearest_name("--modle", known), "--model");
  EXPECT_EQ(nearest_name("--databse", known), "--database");
  EXPECT_EQ(nearest_name("--mod", known), "--model");  // cut short
  EXPECT_EQ(nearest_name("--verbose", known), "");
  EXPECT_EQ(nearest_name("", known), "");
  EXPECT_EQ(nearest_name(std::string(100, 'x'), known), "");
  EXPECT_EQ(did_you_mean("--dta", known), "; did you mean '--data'?");
  EXPECT_EQ(did_you_mean("--verbose", known), "");
}

}  // namespace
}  // namespace bdnn
