#include "learn/class_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.h"

namespace bdnn {
namespace {

using ::testing::ElementsAre;

TEST(ClassLabels, AreNumberedInTheOrderOfTheirLabels) {
  const ClassLabels labels = number_classes(std::vector<std::int64_t>{70, -1, -5, 70, 3, -5, 70}, "m");
  EXPECT_EQ(labels.classes, 3U);
  EXPECT_THAT(labels.of, ElementsAre(2, 3, 0, 2, 1, 0, 2));
  EXPECT_THAT(labels.sizes, ElementsAre(2, 1, 3));
  EXPECT_THAT(labels.labelled_rows(), ElementsAre(0, 2, 3, 4, 5, 6));
}

TEST(ClassLabels, FewerThanTwoClassesAreRefused) {
  EXPECT_BDNN_ERROR(number_classes(std::vector<std::int64_t>{-1, -1}, "sdh"), misuse,
                    "all samples are unlabelled (-1); sdh learns from labels");
  EXPECT_BDNN_ERROR(number_classes(std::vector<std::int64_t>{-1, 4, 4}, "sdh"), misuse,
                    "all labelled samples have the same label; sdh learns from pairs");
}

}  // namespace
}  // namespace bdnn
