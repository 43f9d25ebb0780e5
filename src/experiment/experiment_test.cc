#include "bdnn/experiment.h"

#include <gtest/gtest.h>

#include <random>

namespace bdnn {
namespace {

ExperimentRun run(std::size_t bits, std::uint64_t seed, double precision, const std::string& method = "itq") {
  ExperimentRun run{method, bits, seed, static_cast<double>(seed), {}};
  run.result.mean_average_precision = precision;
  return run;
}

TEST(Summarize, IsMeanAndSpreadOfEachMethodAndLength) {
  const auto rows =
      summarize({run(8, 1, 0.25), run(8, 2, 0.5), run(8, 3, 0.75), run(16, 1, 0.5), run(16, 1, 0.75, "lsh")});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].train_seconds, 2);
  EXPECT_EQ(rows[1].method, "itq");
  EXPECT_EQ(rows[2].method, "lsh");
  EXPECT_EQ(rows[2].mean.front().second, 0.75);
  EXPECT_EQ(rows[0].bits, 8U);
  EXPECT_EQ(rows[0].runs, 3U);
  EXPECT_EQ(rows[0].mean.front(), (std::pair<std::string, double>("mAP", 0.5)));
  EXPECT_EQ(rows[0].spread.front(), (std::pair<std::string, double>("mAP", 0.5)));
  EXPECT_EQ(rows[1].runs, 1U);
  EXPECT_EQ(rows[1].spread.front().second, 0);
}

TEST(RunExperiment, MeasuresAModelAsItsTrainingDoes) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(400 * 6);
  for (float& value : values) value = normal(random);
  Dataset dataset;
  dataset.train = Vectors(6, 400, values);
  dataset.database = dataset.train;
  dataset.queries = dataset.train.slice(0, 50);
  Protocol protocol;
  protocol.neighbours.k = 5;
  const ExperimentOptions options{.methods = {{.method = "itq"}, {.method = "pca"}}, .bits = {3, 5}, .seeds = {1, 2}};
  Progress silent;
  const auto runs = run_experiment(protocol, dataset, options, silent);
  ASSERT_EQ(runs.size(), 8U);
  EXPECT_EQ(runs[2].method, "itq");
  EXPECT_EQ(runs[4].method, "pca");
  EXPECT_EQ(runs[4].bits, 3U);
  EXPECT_EQ(runs[2].bits, 5U);
  EXPECT_EQ(runs[2].seed, 1U);
  const Model model = train(dataset.train, {.method = "itq", .bits = 5, .seed = 2});
  const auto again = run_experiment(protocol, dataset, model, options, silent);
  EXPECT_EQ(again.seed, 2U);
  EXPECT_EQ(again.result.mean_average_precision, runs[3].result.mean_average_precision);
}

}  // namespace
}  // namespace bdnn
