#include "methods/binary_network/binary_network.h"

#include "base/error.h"
#include "learn/itq_rotation.h"

namespace bdnn {
namespace {

// The signs of R v for some of the columns of v.
TargetCodes signs_of(const MatrixXd& r, const MatrixXf& v, const std::vector<std::uint32_t>& rows) {
  const auto bits = static_cast<std::size_t>(v.rows());
  const MatrixXf rounded = r.cast<float>();
  const auto rotation = PackedMatrix<float>::from_columns(rounded.data(), bits, bits, bits);
  TargetCodes signs(bits, rows.size());
  VectorXf h(v.rows());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    multiply(rotation, v.data() + rows[i] * bits, 1, bits, h.data(), bits);
    signs.pack(i, 1, h.data());
  }
  return signs;
}

// B of the training rows, by ITQ: of several random starts, that with the best score on what is held out.
TargetCodes first_codes(const TrainingTask& task, const Moments& moments, const Selection& selection, int starts) {
  constexpr int kRotations = 50;
  const auto pca = principal_directions(task.x, moments, task.bits, task.threads);
  const MatrixXf v = outputs_of(affine_network(pca.directions, pca.mean), task.x, task.threads);
  TargetCodes best;
  double best_score = -1;
  for (int start = 0; start < (selection.possible() ? starts : 1); ++start) {
    // The first start is the one that the method itq takes.
    const std::uint64_t seed = task.seed + 0x9e3779b97f4a7c15 * static_cast<std::uint64_t>(start);
    const MatrixXd r = itq_rotation(v, kRotations, seed, task.threads, task.progress);
    TargetCodes codes = signs_of(r, v, selection.rows().training);
    const double score =
        selection.possible() ? selection.score(codes, signs_of(r, v, selection.rows().queries)).value() : 0;
    if (score <= best_score) continue;
    best_score = score;
    best = std::move(codes);
  }
  return best;
}

}  // namespace

Lambdas BinaryNetworkOptions::lambdas(const Lambdas& rule) const {
  return {lambda1.value_or(rule.weights), lambda2.value_or(rule.binary), lambda3.value_or(rule.independence),
          lambda4.value_or(rule.balance)};
}

TrainedBinaryNetwork train_binary_network(const TrainingTask& task, BinaryNetworkOptions options,
                                          const Lambdas& lambdas, const MakeCodeStep& make_step) {
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
  options.alternation.lambdas = lambdas;
  const WeightStart weight_start = weight_start_for(options.weight_start, task.bits);
  options.alternation.fit_last_layer = weight_start == WeightStart::fitted;
  const double rate = weight_start == WeightStart::fitted ? 1e-3 : 1e-2;
  options.alternation.first_adam.rate = options.first_rate.value_or(rate);
  options.alternation.adam.rate = options.rate.value_or(rate);

  const Moments moments = moments_of(task.x, task.threads, task.progress);
  const Scaling scaling = scaling_for(task.x, moments, options.spread, task.threads);
  const Selection selection(task.x, task.labels,
                            hold_out(task.x.size(), static_cast<std::size_t>(options.held_out), task.seed),
                            task.threads.count(), task.progress);
  TrainingSet set(task.x, selection.rows().training, scaling);
  set.count_passes(selection.possible() && task.labels.empty() ? 3 : 2);  // moments, and true neighbours
  const TrainingSet queries(task.x, selection.rows().queries, scaling);
  std::vector<std::int64_t> labels;
  if (!task.labels.empty()) {
    for (const auto row : set.rows()) labels.push_back(task.labels[row]);
  }
  const auto step = make_step({set, labels, queries, selection});
  const auto start = [&]() -> AlternationStart {
    set.count_passes(1);  // of the projection that ITQ rotates
    return {eigenvector_start(sizes, set, moments, weight_start, task.threads),
            first_codes(task, moments, selection, options.starts)};
  };
  AlternationResult result = alternate(sizes, set, queries, selection, *step, start, options.alternation, task.seed,
                                       task.checkpoint, task.threads, task.progress);
  TrainedBinaryNetwork trained;
  trained.network = to_network(sizes, result.parameters, scaling.offset, scaling.factor);
  trained.state = std::move(result.state);
  trained.scaling = scaling;
  trained.outcome = fmt::format(
      "iteration {} of {} kept{}", result.iteration, result.iterations,
      result.score
          ? fmt::format(", held-out {} {:.4f}", task.labels.empty() ? "mAP" : "mAP and precision, mean", *result.score)
          : "");
  return trained;
}

}  // namespace bdnn
