// Experiments: train and measure models under a protocol, by several methods, for several code lengths and seeds.
//
//     bdnn::Protocol protocol = bdnn::load_protocol("protocols/mnist-50-neighbours.toml");
//     bdnn::Dataset dataset = bdnn::load_dataset(protocol, "mnist", protocol.split.seed);
//     bdnn::ExperimentOptions options{.methods = {{.method = "itq"}, {.method = "uh-bdnn"}}, .bits = {8, 16},
//                                     .seeds = {1, 2, 3}, .metrics = protocol.metrics};
//     auto runs = bdnn::run_experiment(protocol, dataset, options, progress);
//     for (const bdnn::ExperimentSummary& row : bdnn::summarize(runs)) { ... }
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bdnn/encode.h"
#include "bdnn/methods.h"
#include "bdnn/metrics.h"
#include "bdnn/model.h"
#include "bdnn/progress.h"
#include "bdnn/protocol.h"
#include "bdnn/rank_by.h"

namespace bdnn {

struct ExperimentOptions {
  std::vector<TrainOptions> methods = {{}};  // bits, seed, labels, data_name and threads are set for each run
  std::vector<std::size_t> bits = {32};      // code lengths; a model is trained by each method for each length ...
  std::vector<std::uint64_t> seeds = {1};    // ... and each seed
  EncodeOptions encoding = {};               // of the database; queries always get hash codes
  RankBy rank = RankBy::hamming;
  MetricsOptions metrics = {};
  std::string cache = {};  // folder for true neighbours (cached_neighbours); "": none
  int threads = 0;         // 0: one per core. Results do not depend on it
};

// One model and its results.
struct ExperimentRun {
  std::string method;  // "uh-bdnn", or "uh-bdnn:paper" for a profile other than the default
  std::size_t bits = 0;
  std::uint64_t seed = 0;
  double train_seconds = 0;  // 0 for a trained model
  MetricsResult result;
};

// Trains and measures a model for every method, length and seed. Runs are ordered by methods, then bits, then seeds.
std::vector<ExperimentRun> run_experiment(const Protocol& protocol, const Dataset& dataset,
                                          const ExperimentOptions& options, Progress& progress);

// The same for a trained model; the training options are not used.
ExperimentRun run_experiment(const Protocol& protocol, const Dataset& dataset, const Model& model,
                             const ExperimentOptions& options, Progress& progress);

// All runs of one method and code length.
struct ExperimentSummary {
  std::string method;
  std::size_t bits = 0;
  std::size_t runs = 0;
  NamedValues mean;
  NamedValues spread;        // largest minus smallest
  double train_seconds = 0;  // mean
};

// One row per method and code length. Runs that belong together must be adjacent.
std::vector<ExperimentSummary> summarize(const std::vector<ExperimentRun>& runs);

}  // namespace bdnn
