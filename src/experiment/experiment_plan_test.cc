#include "experiment/experiment_plan.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "bdnn/methods.h"
#include "expect_error.h"

namespace bdnn {
namespace {

constexpr const char* kText = R"(
title = "T"
protocol = "p.toml"
dataset = "d"
bits = [8, 16, 32, 64]
seeds = [4, 5]
metrics = ["precision@r2", "mAP"]
[images]
width = 2
height = 3
[[method]]
label = "ITQ"
method = "itq"
set = { rotations = "7" }
[[paper]]
source = "Table 9"
metric = "mAP"
bits = [8, 16]
[paper.percent]
ITQ = [1, 2.5]
Other = [3.0, 4.0]
)";

TEST(ExperimentPlan, ReadsWhatTheFileSays) {
  const ExperimentPlan plan = parse_experiment(kText, "some/where/e.toml");
  EXPECT_EQ(plan.name, "e");
  EXPECT_EQ(plan.title, "T");
  EXPECT_EQ(plan.seeds, (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(plan.cells(), 8U);
  ASSERT_EQ(plan.methods.size(), 1U);
  EXPECT_EQ(plan.methods[0].set.at("rotations"), "7");
  ASSERT_EQ(plan.paper.size(), 1U);
  EXPECT_EQ(plan.paper[0].percent.at("ITQ"), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(plan.images->height, 3U);
}

TEST(ExperimentPlan, TheQuickVersionIsSmall) {
  ExperimentPlan plan = parse_experiment(kText, "e.toml");
  const ExperimentPlan quick = quick_version(plan);
  EXPECT_EQ(quick.bits, (std::vector<std::size_t>{16, 32}));
  EXPECT_EQ(quick.seeds, std::vector<std::uint64_t>{4});
  EXPECT_TRUE(quick.quick);
  plan.bits = {5, 6, 7};
  EXPECT_EQ(quick_version(plan).bits, (std::vector<std::size_t>{5, 7}));
  plan.bits = {5};
  EXPECT_EQ(quick_version(plan).bits, std::vector<std::size_t>{5});
}

TEST(ExperimentPlan, TheQuickVersionLeavesSlowMethodsOut) {
  const std::string slow = "[[method]]\nmethod = \"fasthash\"\nquick = false\n";
  const ExperimentPlan plan = parse_experiment(kText + slow, "e.toml");
  EXPECT_EQ(plan.methods.size(), 2U);
  const ExperimentPlan quick = quick_version(plan);
  ASSERT_EQ(quick.methods.size(), 1U);
  EXPECT_EQ(quick.methods[0].label, "ITQ");
  EXPECT_BDNN_ERROR(parse_experiment("protocol = \"p\"\nbits = [8]\n" + slow, "e.toml"), failure,
                    "every method has 'quick = false'");
}

TEST(ExperimentPlan, MistakesAreNamed) {
  const auto expect = [](const std::string& from, const std::string& to, const std::string& message) {
    std::string text = kText;
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    EXPECT_BDNN_ERROR(parse_experiment(text, "e.toml"), failure, message);
  };
  expect("title", "titel", "e.toml: line 2: unknown key 'titel' at the top");
  expect("[1, 2.5]", "[1]", "'ITQ' must be 2 numbers, one for each of 'bits'");
  expect("bits = [8, 16, 32, 64]", "", "give 'bits'");
  expect("8, 16, 32", "0, 16, 32", "'bits' start at 1");
  expect("protocol = \"p.toml\"", "", "'protocol' must be");
  expect("method = \"itq\"", "", "'method' must be the name of a method");
  expect("width = 2", "width = 5000", "'width' must be 1 to 4096");
  expect("[[paper]]", "[[method]]\nlabel = \"ITQ\"\nmethod = \"lsh\"\n[[paper]]", "two methods are called 'ITQ'");
}

TEST(ExperimentPlan, MetricsMustBeMeasured) {
  ExperimentPlan plan = parse_experiment(kText, "e.toml");
  Protocol protocol;
  check_metrics(plan, protocol);
  plan.metrics = {"precision@100"};
  EXPECT_BDNN_ERROR(check_metrics(plan, protocol), failure, "does not measure 'precision@100'; it measures mAP");
  protocol.metrics.at = {100};
  check_metrics(plan, protocol);
}

TEST(ShippedExperiments, LoadWithTheirProtocolsAndMethods) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(BDNN_SOURCE_DIR "/experiments")) {
    const ExperimentPlan plan = load_experiment(entry.path());
    check_metrics(plan, load_protocol(plan.protocol));
    for (const auto& method : plan.methods) EXPECT_NO_THROW(method_info(method.method)) << entry.path();
    for (const auto& paper : plan.paper) {
      EXPECT_EQ(paper.bits, plan.bits) << entry.path();
      EXPECT_TRUE(paper.percent.contains(plan.methods.front().label)) << entry.path();
    }
    ++count;
  }
  EXPECT_GE(count, 9U);
}

}  // namespace
}  // namespace bdnn
