#include "bdnn/experiment.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "bdnn/ground_truth.h"

namespace bdnn {
namespace {

Codes encode_part(const Model& model, const Vectors& vectors, const std::string& part, const EncodeOptions& options) {
  return with_name("the protocol's " + part, [&] { return encode(model, vectors, options); });
}

// What every run of an experiment has in common.
class Experiment {
 public:
  Experiment(const Protocol& protocol, const Dataset& dataset, const ExperimentOptions& options, Progress& progress)
      : dataset_(dataset), options_(options), progress_(progress) {
    options_.encoding.threads = options.threads;
    options_.metrics.threads = options.threads;
    if (protocol.labels_are_relevant) {
      relevance_ = Relevance::labels(dataset.database_labels, dataset.query_labels);
    } else {
      GroundTruthOptions neighbours = protocol.neighbours;
      neighbours.self = dataset.self;
      neighbours.threads = options.threads;
      truth_ = cached_neighbours(dataset.database, dataset.queries, neighbours, options.cache, progress);
      relevance_ = Relevance::neighbours(truth_.ids, truth_.k);
    }
    relevance_.self = dataset.self;
  }
  Experiment(const Experiment&) = delete;  // relevance_ looks at truth_
  Experiment& operator=(const Experiment&) = delete;

  MetricsResult measure(const Model& model) const {
    const Codes database = encode_part(model, dataset_.database, "database", options_.encoding);
    if (!compares_codes(options_.rank)) {
      return evaluate_scores(model, options_.rank, database, dataset_.queries, relevance_, options_.metrics, progress_);
    }
    const Codes queries = encode_part(model, dataset_.queries, "queries", {.threads = options_.threads});
    return evaluate_codes(database, queries, relevance_, options_.metrics, progress_, options_.rank);
  }

 private:
  const Dataset& dataset_;
  ExperimentOptions options_;
  Progress& progress_;
  GroundTruth truth_;
  Relevance relevance_ = Relevance::neighbours({}, 0);
};

}  // namespace

std::vector<ExperimentRun> run_experiment(const Protocol& protocol, const Dataset& dataset,
                                          const ExperimentOptions& options, Progress& progress) {
  const Experiment experiment(protocol, dataset, options, progress);
  std::vector<ExperimentRun> runs;
  for (TrainOptions training : options.methods) {
    training.threads = options.threads;
    training.labels = dataset.train_labels;
    training.data_name = protocol.name;
    const std::string name = training.method + (training.profile == "default" ? "" : ":" + training.profile);
    for (const std::size_t bits : options.bits) {
      for (const std::uint64_t seed : options.seeds) {
        training.bits = bits;
        training.seed = seed;
        const auto started = std::chrono::steady_clock::now();
        const Model model = train(dataset.train, training, progress);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
        runs.push_back({name, bits, seed, took.count(), experiment.measure(model)});
      }
    }
  }
  return runs;
}

ExperimentRun run_experiment(const Protocol& protocol, const Dataset& dataset, const Model& model,
                             const ExperimentOptions& options, Progress& progress) {
  const Experiment experiment(protocol, dataset, options, progress);
  return {model.record.method, model.bits(), model.record.seed, 0, experiment.measure(model)};
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
    const auto count = static_cast<double>(values.size());
    ExperimentSummary summary{runs[first].method, runs[first].bits, values.size(), {}, {}, seconds / count};
    for (std::size_t v = 0; v < values.front().size(); ++v) {
      const auto& [name, start] = values.front()[v];
      double sum = 0;
      double least = start;
      double most = start;
      for (const auto& run : values) {
        sum += run[v].second;
        least = std::min(least, run[v].second);
        most = std::max(most, run[v].second);
      }
      summary.mean.emplace_back(name, sum / count);
      summary.spread.emplace_back(name, most - least);
    }
    summaries.push_back(std::move(summary));
    first = last;
  }
  return summaries;
}

}  // namespace bdnn
