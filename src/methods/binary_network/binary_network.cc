#include "methods/binary_network/binary_network.h"

#include "base/error.h"
#include "learn/network_start.h"
#include "methods/itq/itq.h"

namespace bdnn {
namespace {

// B of the training rows, by ITQ.
TargetCodes first_codes(const TrainingTask& task, const Moments& moments, const TrainingSet& set) {
  const auto pca = principal_directions(task.x, moments, task.bits, task.threads);
  const Model itq{learn_itq(task, pca, {}), {}, {}};
  const Codes codes = encode(itq, task.x, task.threads.count());
  TargetCodes b(task.bits, set.size());
  for (std::size_t i = 0; i < set.size(); ++i) {
    std::copy_n(codes[set.rows()[i]].data(), b.stride(), b.bytes().data() + i * b.stride());
  }
  return b;
}

}  // namespace

TrainedBinaryNetwork train_binary_network(const TrainingTask& task, BinaryNetworkOptions options,
                                          const MakeCodeStep& make_step) {
  check_directions(task.x, task.bits);
  std::vector<std::size_t> units = {task.x.dimension()};
  const auto hidden = options.hidden == "auto" ? default_hidden_units(task.bits, task.x.dimension())
                                               : parse_hidden_units(options.hidden, task.bits, task.x.dimension());
  units.insert(units.end(), hidden.begin(), hidden.end());
  units.push_back(task.bits);
  const LayerSizes sizes(units);
  // One number sets both, where it makes no sense to tell them apart.
  options.alternation.first_adam.batch = options.alternation.adam.batch;
  options.alternation.first_adam.blend = options.alternation.adam.blend;

  const Moments moments = moments_of(task.x, task.threads, task.progress);
  const Scaling scaling = scaling_for(task.x, moments, options.spread, task.threads);
  const Selection selection(
      task.x, task.labels, hold_out(task.x.size(), static_cast<std::size_t>(options.held_out), task.seed),
      task.threads.count(), task.progress);
  const TrainingSet set(task.x, selection.rows().training, scaling);
  const TrainingSet queries(task.x, selection.rows().queries, scaling);
  std::vector<std::int64_t> labels;
  if (!task.labels.empty()) {
    for (const auto row : set.rows()) labels.push_back(task.labels[row]);
  }
  const auto step = make_step(set, labels);
  const auto start = [&]() -> AlternationStart {
    return {eigenvector_start(sizes, set, moments, options.spread > 0, task.threads), first_codes(task, moments, set)};
  };
  AlternationResult result = alternate(sizes, set, queries, selection, *step, start, options.alternation, task.seed,
                                       task.checkpoint, task.threads, task.progress);
  TrainedBinaryNetwork trained;
  trained.network = to_network(sizes, result.parameters, scaling.offset, scaling.factor);
  trained.state = std::move(result.state);
  trained.scaling = scaling;
  trained.outcome = fmt::format("iteration {} of {} kept{}", result.iteration, result.iterations,
                                result.score ? fmt::format(", held-out mAP {:.4f}", *result.score) : "");
  return trained;
}

}  // namespace bdnn
