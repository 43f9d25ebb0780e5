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
  // The weights of the objective's terms; where there is no value, the method's rule holds.
  std::optional<double> lambda1;
  std::optional<double> lambda2;
  std::optional<double> lambda3;
  std::optional<double> lambda4;
  // Adam's rates; where there is no value, a low one for a network that starts near its codes, else a high one.
  std::optional<double> first_rate;
  std::optional<double> rate;
  AlternationOptions alternation;  // all but its lambdas and rates

  // The lambdas that are set, and the others from `rule`.
  Lambdas lambdas(const Lambdas& rule) const;
};

// The options of a method whose struct derives from the common one.
template <class Options>
std::vector<Option<Options>> binary_network_options() {
  const auto alternation = [](auto member) {
    return [member](auto& options) -> auto& { return options.alternation.*member; };
  };
  const auto optional = [](auto member) {
    return [member](auto& options) -> auto& { return options.*member; };
  };
  const auto first = [](auto member) {
    return [member](auto& options) -> auto& { return options.alternation.first_adam.*member; };
  };
  const auto later = [](auto member) {
    return [member](auto& options) -> auto& { return options.alternation.adam.*member; };
  };
  const auto lbfgs = [](auto member) {
    return [member](auto& options) -> auto& { return options.alternation.lbfgs.*member; };
  };
  using A = AlternationOptions;
  return {
      text_option_of<Options>("hidden", "units of the hidden layers", &BinaryNetworkOptions::hidden,
                              "a list such as 120,50, or auto"),
      optional_real_option_at<Options>("lambda1", "weight decay", optional(&Options::lambda1), 0, 1e12),
      optional_real_option_at<Options>("lambda2", "how closely the outputs follow the codes",
                                       optional(&Options::lambda2), 0, 1e12),
      optional_real_option_at<Options>("lambda3", "independence of the bits", optional(&Options::lambda3), 0, 1e12),
      optional_real_option_at<Options>("lambda4", "balance of the bits", optional(&Options::lambda4), 0, 1e12),
      real_option_at<Options>(
          "spread", "total variance of the scaled samples; 0: range [0, 1], not centred",
          [](auto& options) -> auto& { return options.spread; }, 0, 1e12),
      integer_option_at<Options>("iterations", "alternations after the first network step (T)",
                                 alternation(&A::iterations), 0, 100000),
      integer_option_at<Options>("patience", "end after so many iterations without a better one; 0: never",
                                 alternation(&A::patience), 0, 100000),
      word_option_at<Options>("weight_start", "where the weights start: eigenvectors of the inputs' ...",
                              [](auto& options) -> auto& { return options.weight_start; },
                              {"second-moment", "covariance", "whitened", "fitted", "random", "auto"}),
      word_option_at<Options>("path", "a linear path beside the hidden layers, which starts as ...",
                              [](auto& options) -> auto& { return options.path; }, {"none", "itq", "fitted"}),
      integer_option_at<Options>(
          "starts", "random starts of ITQ, of which the best gives the first codes",
          [](auto& options) -> auto& { return options.starts; }, 1, 1000),
      integer_option_at<Options>(
          "held_out", "samples kept out of the training to choose the best iteration by",
          [](auto& options) -> auto& { return options.held_out; }, 0, 1000000),
      word_option_at<Options>("solver", "of the network step", alternation(&A::solver), {"adam", "lbfgs"}),
      integer_option_at<Options>("first_steps", "adam: batches in the first network step", first(&AdamOptions::steps),
                                 0, 1 << 30),
      integer_option_at<Options>("steps", "adam: and in each of the others", later(&AdamOptions::steps), 0, 1 << 30),
      integer_option_at<Options>("batch", "adam: samples per step", later(&AdamOptions::batch), 1, 1 << 24),
      optional_real_option_at<Options>("first_rate", "adam: rate of the first network step",
                                       optional(&Options::first_rate), 0, 10),
      optional_real_option_at<Options>("rate", "adam: rate of the others", optional(&Options::rate), 0, 10),
      real_option_at<Options>("blend", "adam: weight of a batch in the sums that stand for all samples",
                              later(&AdamOptions::blend), 1e-6, 1),
      integer_option_at<Options>("lbfgs_iterations", "L-BFGS: iterations per network step at most",
                                 lbfgs(&LbfgsOptions::iterations), 0, 1000000),
      integer_option_at<Options>("history", "L-BFGS: steps that it remembers", lbfgs(&LbfgsOptions::history), 1, 10000),
  };
}

// What the training works on.
struct BinaryNetworkData {
  const TrainingSet& set;
  std::span<const std::int64_t> labels;  // of the set; empty where there are none
  const TrainingSet& queries;            // what is held out
  const Selection& selection;
};

// The term and the B step of a method, made when the samples are at hand.
using MakeCodeStep = std::function<std::unique_ptr<CodeStep>(const BinaryNetworkData& data)>;

// A network that is kept instead of the trained one if it searches better for what is held out.
struct Alternative {
  std::string name;  // for the outcome
  Network network;
  std::function<Network()> with_all_samples = {};  // the same learned from what was held out, too; none: as it is
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
