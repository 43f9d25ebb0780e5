#include "methods/dh/dh.h"

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "learn/adam.h"
#include "learn/affine.h"
#include "learn/itq_rotation.h"
#include "learn/network_start.h"
#include "learn/stage_name.h"
#include "linalg/decompose.h"
#include "methods/dh/dh_objective.h"

namespace bdnn {
namespace {

// The layers' units, and the principal directions that the first one starts from.
struct Layout {
  MatrixXd directions;
  LayerSizes sizes;
};

Layout layout_for(const TrainingTask& task, const DhOptions& options, const Moments& moments) {
  const std::size_t bits = task.bits;
  std::vector<std::size_t> hidden;
  if (options.hidden != "auto") {
    hidden = parse_hidden_units(options.hidden);
  } else {
    hidden = dh_hidden_units(bits, task.x.dimension());
  }
  const MatrixXd directions = varying_directions(task.x, moments, std::max(bits, hidden.front()), task.threads);
  const auto varying = static_cast<std::size_t>(directions.rows());
  if (varying < bits) {
    misuse("the data varies in only {} directions, too few for {} bits; ask for at most {} bits, or use lsh", varying,
           bits, varying);
  }
  if (options.hidden == "auto") hidden = dh_hidden_units(bits, std::min(varying, hidden.front()));
  std::vector<std::size_t> units = {task.x.dimension()};
  units.insert(units.end(), hidden.begin(), hidden.end());
  units.push_back(bits);
  bool fits = hidden.front() <= varying;
  for (std::size_t l = 1; l < units.size(); ++l) fits = fits && units[l] <= units[l - 1];
  if (!fits) {
    misuse(
        "hidden={} does not fit data that varies in {} directions and codes of {} bits: the rows of each layer's "
        "weights are orthonormal, so units must not grow from layer to layer: {} >= s_1 >= s_2 >= ... >= {}",
        options.hidden, varying, bits, varying, bits);
  }
  return {directions.topRows(static_cast<Eigen::Index>(hidden.front())), LayerSizes(units)};
}

Scaling scaling_to(const Moments& moments, const MatrixXd& leading, double spread) {
  const MatrixXd products =
      small_product(moments.covariance.selfadjointView<Eigen::Lower>(), leading.transpose());  // D x L
  const double variance = leading.transpose().cwiseProduct(products).sum() / static_cast<double>(leading.rows());
  return {moments.mean, std::sqrt(spread / variance)};
}

std::vector<float> start_of(const Layout& layout, const TrainingSet& set, const DhOptions& options,
                            const TrainingTask& task) {
  const LayerSizes& sizes = layout.sizes;
  const std::size_t last = sizes.count() - 1;
  std::vector<float> parameters(sizes.parameters(), 0.0F);
  const auto weights = [&](std::size_t l) {
    return view(parameters.data() + sizes.weights(l), sizes.outputs(l), sizes.inputs(l));
  };
  weights(0) = layout.directions.cast<float>();
  for (std::size_t l = 1; l <= last; ++l) weights(l).setIdentity();
  if (options.start == DhOptions::Start::pca) return parameters;
  const auto bits = static_cast<Eigen::Index>(task.bits);
  MatrixXd rotation;
  if (options.start == DhOptions::Start::rotated) {
    Random random(task.seed);
    rotation = random_rotation(task.bits, random);
  } else {
    // The last layer, still the identity, passes the leading units on.
    constexpr int kRotations = 50;
    const MatrixXf v = LayerStack<float>(sizes, parameters.data(), {Activation::tanh, Activation::identity})
                           .outputs(set, task.threads);
    rotation = itq_rotation(v, kRotations, task.seed, task.threads, task.progress);
  }
  weights(last).leftCols(bits) = rotation.cast<float>();
  return parameters;
}

Trained train_dh(const TrainingTask& task, const DhOptions& options) {
  check_directions(task.x, task.bits);
  const Moments moments = moments_of(task.x, task.threads, task.progress);
  const Layout layout = layout_for(task, options, moments);
  std::vector<std::uint32_t> rows(task.x.size());
  std::iota(rows.begin(), rows.end(), 0U);
  const TrainingSet set(
      task.x, std::move(rows),
      scaling_to(moments, layout.directions.topRows(static_cast<Eigen::Index>(task.bits)), options.spread));
  std::vector<float> parameters = start_of(layout, set, options, task);

  constexpr std::uint64_t kOtherSeed = 0x3c6ef372fe94f82b;  // batches are drawn independently of the first rotation
  Random random(task.seed ^ kOtherSeed);
  ShuffledBatches batches(set, static_cast<std::size_t>(options.batch), random, task.threads);
  DhObjective<float> objective(layout.sizes, {options.variance, options.centred, options.orthogonality, options.decay},
                               task.threads);
  Adam adam(parameters.size());
  std::vector<float> gradient(parameters.size());
  const auto steps = static_cast<std::size_t>(options.steps);
  const std::size_t round = std::max<std::size_t>(1, steps / 10);
  const std::string stage = stage_name("network", batches.seen_in(steps), set.size());
  double sum = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    batches.next();
    sum += objective.evaluate(parameters.data(), batches.x(), batches.size(), gradient.data());
    const double done = static_cast<double>(step) / static_cast<double>(steps);
    const double rate = falling_rate(options.rate, done);
    adam.step(gradient.data(), rate, parameters.data(), task.threads);
    task.progress.update(stage, step + 1, steps);
    if ((step + 1) % round != 0) continue;
    task.progress.round({{"step", static_cast<double>(step + 1)}, {"objective", sum / static_cast<double>(round)}});
    sum = 0;
  }
  return {to_network(layout.sizes, parameters, set.scaling().offset, set.scaling().factor, kDhActivations)};
}

// The authors' settings, each term taken as a mean over samples.
DhOptions dh_paper_profile() {
  DhOptions options;
  options.variance = 100;
  options.centred = false;
  options.orthogonality = 1e-3;
  options.decay = 1e-3;
  options.spread = 0.3;  // the authors do not report theirs
  options.start = DhOptions::Start::pca;
  return options;
}

std::size_t between(std::size_t at, std::size_t low, std::size_t high, std::size_t from, std::size_t to) {
  return from + (at - low) * (to - from) / (high - low);
}

}  // namespace

std::vector<std::size_t> dh_hidden_units(std::size_t bits, std::size_t directions) {
  std::size_t first = 60;
  std::size_t second = 30;
  if (bits > 64) {
    first = 5 * bits / 4 + 20;
    second = bits + 16;
  } else if (bits > 32) {
    first = between(bits, 32, 64, 80, 100);
    second = between(bits, 32, 64, 50, 80);
  } else if (bits > 16) {
    first = between(bits, 16, 32, 60, 80);
    second = between(bits, 16, 32, 30, 50);
  }
  const auto bounded = [&](std::size_t units) { return std::max(bits, std::min(units, directions)); };
  return {bounded(first), bounded(second)};
}

Method dh_method() {
  return make_method<DhOptions>(
      {.name = "dh",
       .summary = "network of tanh layers with orthonormal weights, near binary",
       .reference = "Liong, Lu, Wang, Moulin and Zhou, Deep hashing for compact binary codes learning, CVPR 2015",
       .options = [](DhOptions& o) -> OptionList {
         return {
             text_option("hidden", "units of the hidden layers; auto: from the number of bits", o.hidden,
                         "a list such as 60,30, or auto"),
             real_option("variance", "alpha1, weight of the outputs' variance", o.variance, 0, 1e12),
             flag_option("centred", "variance about the mean of the outputs; false: about zero", o.centred),
             real_option("orthogonality", "alpha2, weight of the rows of weights being orthonormal", o.orthogonality, 0,
                         1e12),
             real_option("decay", "alpha3, weight of the squares of weights and biases", o.decay, 0, 1e12),
             real_option("spread", "mean variance to which the first principal components, one per bit, are scaled",
                         o.spread, 1e-12, 1e12),
             word_option("start", "the last layer's first weights: principal directions, or these rotated", o.start,
                         {"pca", "rotated", "itq"}),
             integer_option("steps", "steps of Adam, on one batch each; sees steps x batch samples, or all if fewer",
                            o.steps, 0, 100000000),
             integer_option("batch", "samples per step", o.batch, 1, 1 << 20),
             real_option("rate", "learning rate of the first step; falls to zero along a cosine", o.rate, 1e-12, 1e3)};
       },
       .profiles = {{"paper", "the authors' weights of the terms, and their start", dh_paper_profile()}},
       .train = train_dh});
}

}  // namespace bdnn
