#include "bdnn/experiment.h"

#include "experiment/mean_and_spread.h"
#include "experiment/testbed.h"

namespace bdnn {

std::vector<ExperimentRun> run_experiment(const Protocol& protocol, const Dataset& dataset,
                                          const ExperimentOptions& options, Progress& progress) {
  const Testbed testbed(protocol, dataset, options, progress);
  std::vector<ExperimentRun> runs;
  for (TrainOptions training : options.methods) {
    training.threads = options.threads;
    const std::string name = training.method + (training.profile == "default" ? "" : ":" + training.profile);
    for (const std::size_t bits : options.bits) {
      for (const std::uint64_t seed : options.seeds) {
        training.bits = bits;
        training.seed = seed;
        const auto [model, seconds] = testbed.train(training, progress);
        runs.push_back({name, bits, seed, seconds, testbed.measure(model, options.threads, progress).result});
      }
    }
  }
  return runs;
}

ExperimentRun run_experiment(const Protocol& protocol, const Dataset& dataset, const Model& model,
                             const ExperimentOptions& options, Progress& progress) {
  const Testbed testbed(protocol, dataset, options, progress);
  return {model.record.method, model.bits(), model.record.seed, 0,
          testbed.measure(model, options.threads, progress).result};
}

std::vector<ExperimentSummary> summarize(const std::vector<ExperimentRun>& runs) {
  std::vector<ExperimentSummary> summaries;
  for (std::size_t first = 0; first < runs.size();) {
    std::size_t last = first;
    std::vector<NamedValues> values;
    double seconds = 0;
    for (; last < runs.size() && runs[last].method == runs[first].method && runs[last].bits == runs[first].bits;
         ++last) {
      values.push_back(values_of(runs[last].result));
      seconds += runs[last].train_seconds;
    }
    ExperimentSummary summary{runs[first].method, runs[first].bits, values.size(), {}, {}, 0};
    summary.train_seconds = seconds / static_cast<double>(values.size());
    for (std::size_t v = 0; v < values.front().size(); ++v) {
      std::vector<double> of_runs;
      for (const auto& run : values) of_runs.push_back(run[v].second);
      const auto [mean, spread] = mean_and_spread(of_runs);
      summary.mean.emplace_back(values.front()[v].first, mean);
      summary.spread.emplace_back(values.front()[v].first, spread);
    }
    summaries.push_back(std::move(summary));
    first = last;
  }
  return summaries;
}

}  // namespace bdnn
