// What the trainings of UH-BDNN and SH-BDNN have in common: options, start, alternation, the model at the end.
#pragma once

#include <memory>

#include "learn/network_start.h"
#include "methods/binary_network/alternation.h"
#include "methods/method.h"

namespace bdnn {

// Whether there is a linear path beside the hidden layers, and what it starts as.
enum class PathStart {
  none,
  itq,     // ITQ's projection: the codes are ITQ's before the training starts
  fitted,  // the regression from samples to first codes
};

struct BinaryNetworkOptions {
  std::string hidden = "auto";  // units of the hidden layers, "120,50"
  double spread = 50;           // the total variance that samples are scaled to; 0: to the range [0, 1], not centred
  WeightStart weight_start = WeightStart::automatic;
  PathStart path = PathStart::none;
  int starts = 1;       // of ITQ, which the first codes come from
  int held_out = 1000;  // samples kept out of the training to choose the iteration by
  // The weights of the objective's terms; nullopt: by the method's rule.
  std::optional<double> lambda1;
  std::optional<double> lambda2;
  std::optional<double> lambda3;
  std::optional<double> lambda4;
  // Adam's rates; nullopt: low for a network that starts near its codes, else high.
  std::optional<double> first_rate;
  std::optional<double> rate;
  AlternationOptions alternation;  // all but its lambdas and rates

  // The lambdas that are set; the others from `rule`.
  Lambdas lambdas(const Lambdas& rule) const;
};

OptionList binary_network_options(BinaryNetworkOptions& o);

// The data that a training works on.
struct BinaryNetworkData {
  const TrainingSet& set;
  std::span<const std::int64_t> labels;  // of the set; empty if unlabelled
  const TrainingSet& queries;            // the held-out samples
  const Selection& selection;
};

// Makes the term and the B step of a method, once the samples are known.
using MakeCodeStep = std::function<std::unique_ptr<CodeStep>(const BinaryNetworkData& data)>;

// A network that may be kept instead of the trained one. Held-out samples decide; in doubt, the first alternative wins.
struct Alternative {
  std::string name;  // for the outcome
  Network network;
  std::function<Network()> with_all_samples = {};  // the same, trained on the held-out samples too; empty: `network`
};
using MakeAlternatives = std::function<std::vector<Alternative>(const Network& trained, const BinaryNetworkData& data,
                                                                const CodeStep& step)>;

struct TrainedBinaryNetwork {
  Network network;
  std::vector<float> state;  // of the code step, when the network was kept
  Scaling scaling;
  std::string outcome;
};
TrainedBinaryNetwork train_binary_network(const TrainingTask& task, BinaryNetworkOptions options,
                                          const Lambdas& lambdas, const MakeCodeStep& make_step,
                                          const MakeAlternatives& make_alternatives = {});

}  // namespace bdnn
