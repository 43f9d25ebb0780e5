#include "methods/binary_network/binary_network.h"

#include "base/error.h"
#include "learn/itq_projection.h"
#include "linalg/decompose.h"
#include "model/hash_function.h"

namespace bdnn {
namespace {

// The signs of R v for some of the columns of v.
TargetCodes signs_of(const MatrixXd& r, const MatrixXf& v, const std::vector<std::uint32_t>& rows) {
  const auto bits = static_cast<std::size_t>(r.rows());
  const auto depth = static_cast<std::size_t>(v.rows());
  const MatrixXf rounded = r.cast<float>();
  const auto rotation = PackedMatrix<float>::from_columns(rounded.data(), bits, depth, bits);
  TargetCodes signs(bits, rows.size());
  VectorXf h(r.rows());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    multiply(rotation, v.data() + rows[i] * depth, 1, depth, h.data(), bits);
    signs.pack(i, 1, h.data());
  }
  return signs;
}

// B of the training rows, and the projection whose signs they are.
struct FirstCodes {
  TargetCodes codes;
  MatrixXd projection;          // L x D, of centred vectors
  std::optional<double> score;  // on what is held out
};

// By ITQ: of several random starts, that with the best score on what is held out.
FirstCodes first_codes(const TrainingTask& task, const Moments& moments, const Selection& selection, int starts,
                       bool measure) {
  constexpr int kRotations = 50;
  const ItqProjection itq(task.x, moments, task.bits, task.threads);
  FirstCodes best;
  double best_score = -1;
  const bool compare = selection.possible() && (starts > 1 || measure);
  for (int start = 0; start < (selection.possible() ? starts : 1); ++start) {
    // The first start is the one that the method itq takes.
    const std::uint64_t seed = task.seed + 0x9e3779b97f4a7c15 * static_cast<std::uint64_t>(start);
    const MatrixXd r = itq.rotation(kRotations, seed, task.progress);
    TargetCodes codes = signs_of(r, itq.projected(), selection.rows().training);
    const double score =
        compare ? selection.score(codes, signs_of(r, itq.projected(), selection.rows().queries)).value() : 0;
    if (score <= best_score) continue;
    best_score = score;
    best = {std::move(codes), small_product(r, itq.directions()), {}};
    if (compare) best.score = score;
  }
  return best;
}

LayerSizes sizes_for(const TrainingTask& task, const BinaryNetworkOptions& options) {
  std::vector<std::size_t> units = {task.x.dimension()};
  std::vector<std::size_t> hidden;
  if (options.hidden != "auto") {
    hidden = parse_hidden_units(options.hidden);
  } else if (options.path != PathStart::none) {
    hidden = {64};
  } else {
    hidden = default_hidden_units(task.bits, task.x.dimension());
  }
  units.insert(units.end(), hidden.begin(), hidden.end());
  units.push_back(task.bits);
  return LayerSizes(units, options.path != PathStart::none ? LayerSizes::Path::linear : LayerSizes::Path::none);
}

// The network computes the projection, each output scaled to variance 1; the hidden layers say nothing yet.
void start_linear_path(const LayerSizes& sizes, const MatrixXd& projection, const Moments& moments,
                       const Scaling& scaling, std::vector<float>& parameters) {
  const MatrixXd covariance = moments.covariance.selfadjointView<Eigen::Lower>();
  const VectorXd variances = small_product(projection, covariance).cwiseProduct(projection).rowwise().sum();
  const double least = 1e-12 * variances.maxCoeff();
  const MatrixXd a =
      (variances.array().max(least).sqrt() * scaling.factor).inverse().matrix().asDiagonal() * projection;
  view(parameters.data() + sizes.linear_path(), sizes.bits(), sizes.dimension()) = a.cast<float>();
  const std::size_t last = sizes.count() - 1;
  view(parameters.data() + sizes.weights(last), sizes.bits(), sizes.inputs(last)).setZero();
  // Scaled samples may not be centred.
  view(parameters.data() + sizes.biases(last), sizes.bits(), 1) =
      (-(a * (moments.mean - scaling.offset) * scaling.factor)).cast<float>();
}

// The codes of some rows of x.
TargetCodes codes_of(const Network& network, const Vectors& x, const std::vector<std::uint32_t>& rows,
                     Threads& threads) {
  const HashEncoder encoder{HashFunction(network)};
  const std::size_t dimension = x.dimension();
  const std::size_t tile = samples_per_tile(dimension);
  TargetCodes codes(encoder.bits(), rows.size());
  threads.for_each(blocks_of(rows.size()), [&](std::size_t block, int) {
    std::vector<float> scratch(dimension);
    std::vector<float> some(tile * dimension);
    HashEncoder::Scratch buffers;
    for_each_tile(block_range(block, rows.size()), tile, [&](std::size_t first, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        std::copy_n(x.floats(rows[first + i], 1, scratch.data()), dimension, some.data() + i * dimension);
      }
      encoder.encode(some.data(), count, buffers, codes.bytes().data() + first * codes.stride());
    });
  });
  return codes;
}

// Keeps what held-out samples choose of the alternatives and the trained network; in doubt the first alternative.
void choose_alternative(const std::vector<Alternative>& alternatives, const Vectors& x, const Selection& selection,
                        Threads& threads, TrainedBinaryNetwork& trained) {
  std::vector<std::vector<double>> scores;
  const auto measure = [&](const Network& network) {
    scores.push_back(selection.part_scores(codes_of(network, x, selection.rows().training, threads),
                                           codes_of(network, x, selection.rows().queries, threads)));
  };
  for (const Alternative& alternative : alternatives) measure(alternative.network);
  measure(trained.network);
  const std::size_t chosen = choose_candidate(scores);
  if (chosen == alternatives.size()) return;
  const Alternative& kept = alternatives[chosen];
  trained.network = kept.with_all_samples ? kept.with_all_samples() : kept.network;
  trained.outcome += fmt::format("; {} in its place, held-out {:.4f}", kept.name, mean_of_parts(scores[chosen]));
}

// "iteration 2 of 3 kept, held-out mAP 0.2919 (ITQ 0.2460), codes differ from B in 8.40% of bits"
std::string outcome_of(const AlternationResult& result, PathStart path, bool labels) {
  std::string text = result.iteration < 0 ? "the start is kept, no iteration was better"
                                          : fmt::format("iteration {} of {} kept", result.iteration, result.iterations);
  if (result.score) {
    text += fmt::format(", held-out {} {:.4f}", labels ? "mAP and precision, mean" : "mAP", *result.score);
    if (result.itq_score) text += fmt::format(" (ITQ {:.4f})", *result.itq_score);
    if (result.start_score) {
      text += fmt::format(" ({} {:.4f})", path == PathStart::itq ? "ITQ" : "linear start", *result.start_score);
    }
  }
  return text + fmt::format(", codes differ from B in {:.2f}% of bits", 100 * result.differing);
}

}  // namespace

OptionList binary_network_options(BinaryNetworkOptions& o) {
  return {
      text_option("hidden", "units of the hidden layers", o.hidden, "a list such as 120,50, or auto"),
      optional_real_option("lambda1", "weight decay", o.lambda1, 0, 1e12),
      optional_real_option("lambda2", "weight of the outputs' distance to the codes", o.lambda2, 0, 1e12),
      optional_real_option("lambda3", "weight of the bits' independence", o.lambda3, 0, 1e12),
      optional_real_option("lambda4", "weight of the bits' balance", o.lambda4, 0, 1e12),
      real_option("spread", "total variance of the scaled samples; 0: range [0, 1], not centred", o.spread, 0, 1e12),
      integer_option("iterations", "alternations of codes and network after the first network step (T)",
                     o.alternation.iterations, 0, 100000),
      integer_option("patience", "stop after this many iterations without a better one; 0: never",
                     o.alternation.patience, 0, 100000),
      word_option("weight_start", "initial weights: random, or eigenvectors of the inputs by one of these ways",
                  o.weight_start, {"second-moment", "covariance", "whitened", "fitted", "random", "auto"}),
      word_option("path", "linear path beside the hidden layers: none, or how it starts", o.path,
                  {"none", "itq", "fitted"}),
      integer_option("starts", "random starts of ITQ; the best one gives the first codes", o.starts, 1, 1000),
      integer_option("held_out", "samples held out of training, to choose the best iteration", o.held_out, 0, 1000000),
      word_option("solver", "solver of the network step", o.alternation.solver, {"adam", "lbfgs"}),
      integer_option("first_steps", "Adam: batches in the first network step", o.alternation.first_adam.steps, 0,
                     1 << 30),
      integer_option("steps", "Adam: batches in each later network step", o.alternation.adam.steps, 0, 1 << 30),
      integer_option("batch", "Adam: samples per batch", o.alternation.adam.batch, 1, 1 << 24),
      optional_real_option("first_rate", "Adam: learning rate of the first network step", o.first_rate, 0, 10),
      optional_real_option("rate", "Adam: learning rate of the later network steps", o.rate, 0, 10),
      real_option("blend", "Adam: weight of the current batch in the running estimate of the sums over all samples",
                  o.alternation.adam.blend, 1e-6, 1),
      integer_option("lbfgs_iterations", "L-BFGS: iterations per network step, at most", o.alternation.lbfgs.iterations,
                     0, 1000000),
      integer_option("history", "L-BFGS: number of steps it remembers", o.alternation.lbfgs.history, 1, 10000),
  };
}

Lambdas BinaryNetworkOptions::lambdas(const Lambdas& rule) const {
  return {lambda1.value_or(rule.weights), lambda2.value_or(rule.binary), lambda3.value_or(rule.independence),
          lambda4.value_or(rule.balance)};
}

TrainedBinaryNetwork train_binary_network(const TrainingTask& task, BinaryNetworkOptions options,
                                          const Lambdas& lambdas, const MakeCodeStep& make_step,
                                          const MakeAlternatives& make_alternatives) {
  const LayerSizes sizes = sizes_for(task, options);
  const WeightStart weight_start = weight_start_for(options.weight_start, options.path != PathStart::none);
  if (weight_start != WeightStart::random) check_eigenvector_start(sizes, task.x);
  // One number sets both, where it makes no sense to tell them apart.
  options.alternation.first_adam.batch = options.alternation.adam.batch;
  options.alternation.first_adam.blend = options.alternation.adam.blend;
  options.alternation.lambdas = lambdas;
  // With class heads, a linear classifier is a candidate of its own.
  options.alternation.start_is_candidate = options.path != PathStart::none && !make_alternatives;
  options.alternation.fit = options.path == PathStart::fitted     ? Fit::linear_path
                            : weight_start == WeightStart::fitted ? Fit::last_layer
                                                                  : Fit::nothing;
  const double rate = options.path != PathStart::none ? 2e-3 : weight_start == WeightStart::fitted ? 1e-3 : 1e-2;
  options.alternation.first_adam.rate = options.first_rate.value_or(rate);
  options.alternation.adam.rate = options.rate.value_or(rate);

  const Moments moments = moments_of(task.x, task.threads, task.progress);
  const Scaling scaling = scaling_for(task.x, moments, options.spread, task.threads);
  const Selection selection(task.x, task.labels,
                            hold_out(task.x.size(), task.labels, static_cast<std::size_t>(options.held_out), task.seed),
                            task.threads.count(), task.progress);
  TrainingSet set(task.x, selection.rows().training, scaling);
  set.count_passes(selection.possible() && task.labels.empty() ? 3 : 2);  // moments, and true neighbours
  const TrainingSet queries(task.x, selection.rows().queries, scaling);
  std::vector<std::int64_t> labels;
  if (!task.labels.empty()) {
    for (const auto row : set.rows()) labels.push_back(task.labels[row]);
  }
  const BinaryNetworkData data{set, labels, queries, selection};
  const auto step = make_step(data);
  if (step->batch_term() != nullptr && options.alternation.solver == Solver::lbfgs) {
    misuse(
        "solver=lbfgs looks at all samples at once and has no place for the term '{}'; set its weight to 0, or use "
        "adam",
        step->batch_term_name());
  }
  const auto start = [&]() -> AlternationStart {
    set.count_passes(1);  // of the projection that ITQ rotates
    constexpr std::uint64_t kOtherSeed = 0x3c6ef372fe94f82b;
    const double variance = moments.covariance.trace() * scaling.factor * scaling.factor;
    std::vector<float> parameters = weight_start == WeightStart::random
                                        ? random_start(sizes, variance, task.seed ^ kOtherSeed)
                                        : eigenvector_start(sizes, set, moments, weight_start, task.threads);
    // As a candidate, ITQ is measured with the other iterations. By labels it is no yardstick.
    const bool measure_itq = task.labels.empty() && options.path != PathStart::itq;
    FirstCodes first = first_codes(task, moments, selection, options.starts, measure_itq);
    if (options.path == PathStart::itq) start_linear_path(sizes, first.projection, moments, scaling, parameters);
    if (!measure_itq) first.score.reset();
    return {std::move(parameters), std::move(first.codes), first.score};
  };
  AlternationResult result = alternate(sizes, set, queries, selection, *step, start, options.alternation, task.seed,
                                       task.checkpoint, task.threads, task.progress);
  TrainedBinaryNetwork trained;
  if (result.iteration < 0) {
    // The hidden layers have not said anything yet.
    const LayerSizes affine({sizes.dimension(), sizes.bits()});
    const std::size_t last = sizes.count() - 1;
    std::vector<float> path(result.parameters.begin() + static_cast<std::ptrdiff_t>(sizes.linear_path()),
                            result.parameters.end());
    path.insert(path.end(), result.parameters.begin() + static_cast<std::ptrdiff_t>(sizes.biases(last)),
                result.parameters.begin() + static_cast<std::ptrdiff_t>(sizes.biases(last) + sizes.bits()));
    trained.network = to_network(affine, path, scaling.offset, scaling.factor);
  } else {
    trained.network = to_network(sizes, result.parameters, scaling.offset, scaling.factor);
  }
  trained.state = std::move(result.state);
  trained.scaling = scaling;
  trained.outcome = outcome_of(result, options.path, !task.labels.empty());
  if (make_alternatives && selection.possible()) {
    choose_alternative(make_alternatives(trained.network, data, *step), task.x, selection, task.threads, trained);
  }
  return trained;
}

}  // namespace bdnn
