// The data of a protocol and its relevance, ready to train and measure models.
#pragma once

#include <cstddef>
#include <string>

#include "bdnn/experiment.h"
#include "bdnn/ground_truth.h"

namespace bdnn {

// Models may be trained and measured on several threads at once. The dataset must outlive the testbed.
class Testbed {
 public:
  Testbed(const Protocol& protocol, const Dataset& dataset, const ExperimentOptions& options, Progress& progress);
  Testbed(const Testbed&) = delete;  // relevance_ refers to truth_
  Testbed& operator=(const Testbed&) = delete;

  struct Trained {
    Model model;
    double seconds = 0;
  };
  // Sets the labels and the name of the data.
  Trained train(TrainOptions training, Progress& progress) const;

  struct Measured {
    MetricsResult result;
    Codes database;
    Codes queries;  // empty if queries are ranked by scores, as vectors
  };
  Measured measure(const Model& model, int threads, Progress& progress) const;

  bool relevant(std::size_t query, std::size_t item) const;

 private:
  std::string name_;  // of the protocol
  const Dataset& dataset_;
  ExperimentOptions options_;
  GroundTruth truth_;
  Relevance relevance_ = Relevance::neighbours({}, 0);
};

}  // namespace bdnn
