#include "learn/class_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_error.h"

namespace bdnn {
namespace {

using ::testing::ElementsAre;

// Sample i is the number i, and its label is i % 4 - 1: a quarter is unlabelled.
Vectors numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return {1, count, std::move(values)};
}
std::vector<std::int64_t> quarters(std::size_t count) {
  std::vector<std::int64_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::int64_t>(i % 4) - 1;
  return labels;
}

TEST(LabelledSamples, LeaveOutTheUnlabelled) {
  const LabelledSamples samples = labelled_samples(numbers(8), quarters(8), 0, 1, "m");
  ASSERT_EQ(samples.x.size(), 6U);
  const std::vector<float> values(samples.x.floats(0, 6, nullptr), samples.x.floats(0, 6, nullptr) + 6);
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 5, 6, 7));
  EXPECT_THAT(samples.labels.of, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(LabelledSamples, ChooseSoManyOfEachClass) {
  const LabelledSamples samples = labelled_samples(numbers(400), quarters(400), 30, 1, "m");
  EXPECT_THAT(samples.labels.sizes, ElementsAre(30, 30, 30));
  for (std::size_t i = 0; i < 90; ++i) {
    EXPECT_EQ(static_cast<int>(*samples.x.floats(i, 1, nullptr)) % 4, samples.labels.of[i] + 1);
  }
  EXPECT_THAT(labelled_samples(numbers(40), quarters(40), 30, 1, "m").labels.sizes, ElementsAre(10, 10, 10));
  const LabelledSamples other = labelled_samples(numbers(400), quarters(400), 30, 2, "m");
  EXPECT_FALSE(std::equal(samples.x.floats(0, 90, nullptr), samples.x.floats(0, 90, nullptr) + 90,
                          other.x.floats(0, 90, nullptr)));
}

TEST(LabelledSamples, AreNotCopiedWhereAllAreChosen) {
  const Vectors x = numbers(4);
  const LabelledSamples samples = labelled_samples(x, std::vector<std::int64_t>{1, 2, 1, 2}, 5, 1, "m");
  EXPECT_EQ(samples.x.data(), x.data());
}

TEST(ChoosePerClass, KeepsTheUnlabelled) {
  const auto rows = choose_per_class(quarters(40), 2, 1);
  EXPECT_EQ(rows.size(), 10U + 3 * 2U);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
}

}  // namespace
}  // namespace bdnn
