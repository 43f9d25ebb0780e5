#include "methods/semantic/semantic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/blocks.h"
#include "base/error.h"
#include "learn/adam.h"
#include "learn/moments.h"
#include "learn/network_start.h"
#include "learn/stage_name.h"
#include "methods/semantic/autoencoder.h"

namespace bdnn {
namespace {

// The range of all entries, and the sum of squared distances to the mean.
struct Extent {
  float least = std::numeric_limits<float>::max();
  float most = std::numeric_limits<float>::lowest();
  double squares = 0;

  void operator+=(const Extent& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
    squares += other.squares;
  }
};

Extent extent_of(const Vectors& x, const VectorXd& mean, Threads& threads) {
  Extent total;
  sum_over_samples(threads, x.size(), Extent(), total, [&](const Range& block, Extent& extent) {
    std::vector<float> scratch(x.dimension());
    for (std::size_t i = block.first; i < block.first + block.count; ++i) {
      const float* values = x.floats(i, 1, scratch.data());
      for (std::size_t d = 0; d < x.dimension(); ++d) {
        extent.least = std::min(extent.least, values[d]);
        extent.most = std::max(extent.most, values[d]);
        const double gap = static_cast<double>(values[d]) - mean[static_cast<Eigen::Index>(d)];
        extent.squares += gap * gap;
      }
    }
  });
  return total;
}

// How vectors are scaled for the first machine, by one factor for all dimensions.
Scaling scaling_for(const TrainingTask& task, VisibleUnits units) {
  const Vectors& x = task.x;
  VectorXd mean = mean_of(x, task.threads);
  const Extent extent = extent_of(x, mean, task.threads);
  if (!(extent.squares > 0)) misuse("all {} vectors are the same; there is nothing to learn from them", x.size());
  if (units == VisibleUnits::logistic) {
    const double range = static_cast<double>(extent.most) - static_cast<double>(extent.least);
    return {VectorXd::Constant(mean.size(), extent.least), 1 / range};
  }
  const double entries = static_cast<double>(x.size()) * static_cast<double>(x.dimension());
  return {std::move(mean), std::sqrt(entries / extent.squares)};
}

LayerSizes encoder_sizes(const TrainingTask& task, const SemanticOptions& options) {
  std::vector<std::size_t> units = {task.x.dimension()};
  const auto hidden = options.hidden == "auto" ? semantic_hidden_units(task.bits, task.x.dimension())
                                               : parse_hidden_units(options.hidden);
  units.insert(units.end(), hidden.begin(), hidden.end());
  units.push_back(task.bits);
  return LayerSizes(units);
}

// The outputs of layers for a batch, a piece of it per thread at a time.
void pass_through(const LayerStack<float>& stack, const float* x, std::size_t samples, Threads& threads,
                  std::vector<float>& out) {
  constexpr std::size_t kPiece = 56;
  const LayerSizes& sizes = stack.sizes();
  out.resize(samples * sizes.bits());
  threads.for_each((samples + kPiece - 1) / kPiece, [&](std::size_t piece, int) {
    const std::size_t first = piece * kPiece;
    const std::size_t count = std::min(kPiece, samples - first);
    std::vector<float> below(x + first * sizes.dimension(), x + (first + count) * sizes.dimension());
    for (std::size_t l = 0; l < sizes.count(); ++l) {
      std::vector<float> h(count * sizes.outputs(l));
      stack.forward(l, below.data(), count, nullptr, h.data());
      below.swap(h);
    }
    std::copy(below.begin(), below.end(), out.data() + first * sizes.bits());
  });
}

// Trains the machines one after the other; the parameters are those of the autoencoder that they unroll to.
std::vector<float> pretrain(const TrainingTask& task, const SemanticOptions& options, const TrainingSet& set,
                            const LayerSizes& encoder, const LayerSizes& whole, Random& random) {
  std::vector<float> parameters(whole.parameters());
  const auto steps = static_cast<std::size_t>(options.first_steps);
  const std::size_t machines = encoder.count();
  for (std::size_t l = 0; l < machines; ++l) {
    const bool gaussian = l == 0 && options.visible == VisibleUnits::gaussian;
    // Gaussian units have no bounds, and need smaller steps.
    const double scale = gaussian ? 0.01 : 1;
    Rbm rbm(encoder.inputs(l), encoder.outputs(l), 0.1, random);
    ContrastiveDivergence divergence(
        rbm, {l == 0 ? options.visible : VisibleUnits::logistic, options.momentum, options.first_decay}, task.threads);
    const LayerSizes below = layers_below(l, encoder);
    std::optional<LayerStack<float>> stack;
    if (l > 0) stack.emplace(below, parameters.data(), LayerActivations{.last = Activation::sigmoid});
    ShuffledBatches batches(set, static_cast<std::size_t>(options.batch), random, task.threads);
    std::vector<float> hidden;
    const std::string stage = stage_name("pretraining", batches.seen_in(steps), set.size());
    const std::size_t last_tenth = steps - (steps + 9) / 10;
    double error = 0;
    for (std::size_t step = 0; step < steps; ++step) {
      batches.next();
      if (stack) pass_through(*stack, batches.x(), batches.size(), task.threads, hidden);
      const double at =
          divergence.step(stack ? hidden.data() : batches.x(), batches.size(), scale * options.first_rate, random);
      if (step >= last_tenth) error += at;
      task.progress.update(stage, l * steps + step + 1, machines * steps);
    }
    if (steps > 0) {
      task.progress.round({{"layer", static_cast<double>(l + 1)},
                           {"reconstruction error", error / static_cast<double>(steps - last_tenth)}});
    }
    const std::size_t mirror = whole.count() - 1 - l;
    std::copy(rbm.w.begin(), rbm.w.end(), parameters.data() + whole.weights(l));
    std::copy(rbm.c.begin(), rbm.c.end(), parameters.data() + whole.biases(l));
    view(parameters.data() + whole.weights(mirror), rbm.visible, rbm.hidden) =
        view(rbm.w.data(), rbm.hidden, rbm.visible).transpose();
    std::copy(rbm.b.begin(), rbm.b.end(), parameters.data() + whole.biases(mirror));
  }
  return parameters;
}

void fine_tune(const TrainingTask& task, const SemanticOptions& options, const TrainingSet& set,
               Autoencoder<float>& autoencoder, Random& random, std::vector<float>& parameters) {
  const std::uint64_t noise_seed = random.bits();
  ShuffledBatches batches(set, static_cast<std::size_t>(options.batch), random, task.threads);
  Adam adam(parameters.size());
  std::vector<float> gradient(parameters.size());
  std::vector<float> noise;
  const auto steps = static_cast<std::size_t>(options.steps);
  const std::size_t round = std::max<std::size_t>(1, steps / 10);
  const std::string stage = stage_name("fine-tuning", batches.seen_in(steps), set.size());
  double sum = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    batches.next();
    noise.resize(task.bits * batches.size());
    constexpr std::size_t kPiece = 56;
    task.threads.for_each((batches.size() + kPiece - 1) / kPiece, [&](std::size_t piece, int) {
      const std::size_t end = std::min(batches.size(), (piece + 1) * kPiece);
      for (std::size_t i = piece * kPiece; i < end; ++i) {
        Random own(noise_seed + batches.samples()[i]);  // a sample's noise is the same in every pass
        for (std::size_t k = 0; k < task.bits; ++k) {
          noise[i * task.bits + k] = static_cast<float>(options.noise * own.normal());
        }
      }
    });
    sum += autoencoder.evaluate(parameters.data(), batches.x(), noise.data(), batches.size(), gradient.data());
    const double done = static_cast<double>(step) / static_cast<double>(steps);
    const double rate = falling_rate(options.rate, done);
    adam.step(gradient.data(), rate, parameters.data(), task.threads);
    task.progress.update(stage, step + 1, steps);
    if ((step + 1) % round != 0) continue;
    task.progress.round({{"step", static_cast<double>(step + 1)}, {"loss", sum / static_cast<double>(round)}});
    sum = 0;
  }
}

// Moves the biases of the code layer to where each bit is on for half of the samples.
void balance(const LayerSizes& encoder, const TrainingSet& set, Threads& threads, std::vector<float>& parameters) {
  const MatrixXf z = LayerStack<float>(encoder, parameters.data()).outputs(set, threads);
  float* biases = parameters.data() + encoder.biases(encoder.count() - 1);
  threads.for_each(encoder.bits(), [&](std::size_t bit, int) {
    VectorXf values = z.row(static_cast<Eigen::Index>(bit));
    float* middle = values.data() + values.size() / 2;
    std::nth_element(values.data(), middle, values.data() + values.size());
    biases[bit] -= *middle;
  });
}

Trained train_semantic(const TrainingTask& task, const SemanticOptions& options) {
  Scaling scaling = scaling_for(task, options.visible);
  const LayerSizes encoder = encoder_sizes(task, options);
  std::vector<std::uint32_t> rows(task.x.size());
  std::iota(rows.begin(), rows.end(), 0U);
  const TrainingSet set(task.x, std::move(rows), std::move(scaling));
  Autoencoder<float> autoencoder(encoder, options.visible, task.threads);
  Random random(task.seed);
  std::vector<float> parameters = pretrain(task, options, set, encoder, autoencoder.sizes(), random);
  fine_tune(task, options, set, autoencoder, random, parameters);
  parameters.resize(encoder.parameters());  // the decoder's come last
  if (options.threshold == SemanticOptions::Threshold::median) balance(encoder, set, task.threads, parameters);
  return {to_network(encoder, parameters, set.scaling().offset, set.scaling().factor)};
}

// The authors' visible units are word counts, to which probabilities come closest here. They take 50 passes in batches
// of 100 over, in one of their collections, 11,314 documents.
SemanticOptions semantic_paper_profile() {
  SemanticOptions options;
  options.hidden = "500,500";
  options.visible = VisibleUnits::logistic;
  options.first_steps = 5657;
  options.steps = 5657;
  options.rate = 1e-3;
  options.noise = 4;
  return options;
}

}  // namespace

std::vector<std::size_t> semantic_hidden_units(std::size_t bits, std::size_t dimension) {
  const std::size_t units = std::max(2 * bits, std::clamp<std::size_t>(dimension, 64, 200));
  return {units, units};
}

Method semantic_method() {
  return make_method<SemanticOptions>(
      {.name = "semantic",
       .summary = "deep autoencoder, pretrained as Boltzmann machines, made binary by noise",
       .reference =
           "Salakhutdinov and Hinton, Semantic hashing, International Journal of Approximate Reasoning 50(7), 2009",
       .options = [](SemanticOptions& o) -> OptionList {
         return {
             text_option("hidden",
                         "units of the hidden layers; auto: two layers as wide as the vectors, but 64 to 200 units",
                         o.hidden, "a list such as 500,500, or auto"),
             word_option("visible", "how the first machine takes vectors: as probabilities (logistic) or real numbers",
                         o.visible, {"logistic", "gaussian"}),
             integer_option("first_steps",
                            "steps of contrastive divergence per machine, on one batch each; sees first_steps x batch "
                            "samples, or all if fewer",
                            o.first_steps, 0, 100000000),
             real_option("first_rate", "learning rate of these steps; a hundredth of it for Gaussian units",
                         o.first_rate, 1e-12, 1e3),
             real_option("momentum", "momentum of these steps", o.momentum, 0, 0.999),
             real_option("first_decay", "weight decay of the machines", o.first_decay, 0, 1e3),
             integer_option(
                 "steps",
                 "steps of Adam in fine-tuning, on one batch each; sees steps x batch samples, or all if fewer",
                 o.steps, 0, 100000000),
             real_option("rate", "learning rate of the first of these; falls to zero along a cosine", o.rate, 1e-12,
                         1e3),
             integer_option("batch", "samples per step", o.batch, 1, 1 << 20),
             real_option("noise", "standard deviation of the noise added to the code layer's inputs", o.noise, 0, 1e6),
             word_option("threshold", "threshold of the code layer's sigmoids: one half, or their medians", o.threshold,
                         {"half", "median"})};
       },
       .profiles = {{"paper", "the authors' layers and units, and their steps on 20-newsgroups",
                     semantic_paper_profile()}},
       .train = train_semantic});
}

}  // namespace bdnn
