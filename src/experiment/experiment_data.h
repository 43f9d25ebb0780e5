// The data of an experiment, and what identifies it.
#pragma once

#include <string>
#include <vector>

#include "bdnn/protocol.h"
#include "experiment/experiment_plan.h"

namespace bdnn {

struct ExperimentData {
  Protocol protocol;
  Dataset dataset;
  std::string setting;             // hash of data, relevance, measures and version
  std::vector<std::string> facts;  // the same in words
};

// The name of the first file of the protocol that is missing in `folder`; "" if none is.
std::string missing_file(const Protocol& protocol, const std::string& folder);

// Reads the protocol's data from `folder`. A quick experiment gets 5,000 vectors to train on, 20,000 to search and 500
// queries, evenly spaced, and a number of true neighbours in proportion.
ExperimentData load_experiment_data(const ExperimentPlan& plan, Protocol protocol, const std::string& folder,
                                    int threads);

}  // namespace bdnn
