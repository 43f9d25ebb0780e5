#include "methods/bre/bre.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "data/format.h"
#include "data/tiles.h"
#include "learn/affine.h"
#include "learn/anchors.h"
#include "learn/class_samples.h"
#include "learn/kernel_features.h"
#include "learn/moments.h"
#include "learn/stage_name.h"
#include "linalg/decompose.h"
#include "linalg/product.h"
#include "methods/bre/coordinate_descent.h"

namespace bdnn {
namespace {

using Kernel = BreOptions::Kernel;

// The anchors of each bit, as columns of the features that are computed: those of anchors that some bit uses.
struct BitAnchors {
  std::vector<std::vector<std::uint32_t>> of_bit;
  std::vector<std::uint32_t> used;
};

BitAnchors draw_anchors(std::size_t bits, std::size_t weights, std::size_t anchors, Random& random) {
  BitAnchors drawn;
  std::vector<std::uint32_t> place(anchors, static_cast<std::uint32_t>(anchors));
  for (std::size_t bit = 0; bit < bits; ++bit) {
    drawn.of_bit.push_back(random_rows(anchors, weights, random));
    for (std::uint32_t& anchor : drawn.of_bit.back()) {
      if (place[anchor] == anchors) {
        place[anchor] = static_cast<std::uint32_t>(drawn.used.size());
        drawn.used.push_back(anchor);
      }
      anchor = place[anchor];
    }
  }
  return drawn;
}

void keep_anchors(AnchorNetwork& function, const std::vector<std::uint32_t>& used) {
  std::vector<float> kept;
  kept.reserve(used.size() * function.dimension);
  for (const std::uint32_t anchor : used) {
    const auto first = function.anchors.begin() + static_cast<std::ptrdiff_t>(anchor * function.dimension);
    kept.insert(kept.end(), first, first + static_cast<std::ptrdiff_t>(function.dimension));
  }
  function.anchors = std::move(kept);
}

// Calls work(first, x') for tiles of all samples less their mean, x' being D x count; on several threads at once.
template <class Work>
void for_each_centred_tile(const Vectors& x, const VectorXd& mean, Threads& threads, const Work& work) {
  const VectorXf rounded = mean.cast<float>();
  for_each_tile_of(x, threads, [&](std::size_t first, std::size_t count, const float* samples, std::size_t) {
    MatrixXf centred = view(samples, x.dimension(), count);
    centred.colwise() -= rounded;
    work(first, std::move(centred));
  });
}

void scale_to_length_one(MatrixXf& vectors) {
  for (auto vector : vectors.colwise()) {
    const float length = vector.norm();
    if (length > 0) vector /= length;
  }
}

// What the bits are linear in.
struct Features {
  MatrixXf values;   // m x anchors
  VectorXd mean;     // of the Gaussians; or of the samples
  MatrixXf anchors;  // of the linear kernel: D x anchors, centred and of unit length
};

Features gaussian_features(const AnchorNetwork& function, const Vectors& x, Threads& threads) {
  const AnchorKernel kernel(function);
  Features features{MatrixXf(x.size(), kernel.anchors()), VectorXd(kernel.anchors()), {}};
  for_each_kernel_tile(kernel, x, threads, [&](std::size_t first, const auto& phi) {
    features.values.middleRows(static_cast<Eigen::Index>(first), phi.cols()) = phi.transpose();
  });
  threads.for_each(kernel.anchors(), [&](std::size_t anchor, int) {
    auto phi = features.values.col(static_cast<Eigen::Index>(anchor));
    const double mean = phi.cast<double>().mean();
    phi.array() -= static_cast<float>(mean);
    features.mean[static_cast<Eigen::Index>(anchor)] = mean;
  });
  return features;
}

// a^T x of the centred samples. That they are not of unit length changes no sign.
Features linear_features(const AnchorNetwork& function, const Vectors& x, Threads& threads) {
  const std::size_t count = function.anchor_count();
  Features features{MatrixXf(x.size(), count), mean_of(x, threads),
                    view(function.anchors.data(), function.dimension, count)};
  features.anchors.colwise() -= features.mean.cast<float>().eval();
  scale_to_length_one(features.anchors);
  const auto packed =
      PackedMatrix<float>::from_rows(features.anchors.data(), count, function.dimension, function.dimension);
  for_each_centred_tile(x, features.mean, threads, [&](std::size_t first, const MatrixXf& centred) {
    MatrixXf products(static_cast<Eigen::Index>(count), centred.cols());
    multiply(packed, centred.data(), static_cast<std::size_t>(centred.cols()), function.dimension, products.data(),
             count);
    features.values.middleRows(static_cast<Eigen::Index>(first), centred.cols()) = products.transpose();
  });
  return features;
}

HashFunction fit(const TrainingTask& task, const BreOptions& options, const Vectors& x, const PairTargets& targets) {
  const bool linear = options.kernel == Kernel::linear;
  if (linear && options.width != BreOptions().width) misuse("width applies to Gaussians; the linear kernel has none");
  const std::size_t count = anchor_count(options.anchors, BreOptions().anchors, x.size());
  const std::size_t weights = anchor_count(options.weights, BreOptions().weights, count);
  if (weights > count) misuse("a bit cannot have {} weights, one per anchor, if there are {} anchors", weights, count);
  AnchorNetwork function = sample_anchors(x, count, options.width, task.seed, task.threads);
  Random random(task.seed + 0x9e3779b97f4a7c15);
  const BitAnchors anchors = draw_anchors(task.bits, weights, count, random);
  keep_anchors(function, anchors.used);
  const Features features =
      linear ? linear_features(function, x, task.threads) : gaussian_features(function, x, task.threads);

  const std::string stage = stage_name("weights", x.size(), task.x.size());
  MatrixXd start(weights, task.bits);
  for (double& weight : start.reshaped()) weight = random.normal();
  CoordinateDescent descent(targets, features.values, anchors.of_bit, std::move(start), task.threads);
  double objective = descent.objective();
  task.progress.round({{"cycle", 0}, {"objective", objective}});
  for (int cycle = 1; cycle <= options.cycles; ++cycle) {
    std::vector<std::vector<std::uint32_t>> orders;
    for (std::size_t bit = 0; bit < task.bits; ++bit) orders.push_back(random_rows(weights, weights, random));
    for (std::size_t i = 0; i < weights; ++i) {
      std::vector<std::uint32_t> weight_of_bit;
      for (const auto& order : orders) weight_of_bit.push_back(order[i]);
      descent.step(weight_of_bit);
      task.progress.update(stage, (static_cast<std::size_t>(cycle) - 1) * weights + i + 1,
                           static_cast<std::size_t>(options.cycles) * weights);
    }
    descent.normalise();
    const double before = std::exchange(objective, descent.objective());
    task.progress.round({{"cycle", cycle}, {"objective", objective}});
    constexpr double kSettled = 1e-3;
    if (before - objective <= kSettled * before) break;
  }

  MatrixXd all = MatrixXd::Zero(static_cast<Eigen::Index>(task.bits), features.values.cols());
  for (std::size_t bit = 0; bit < task.bits; ++bit) {
    for (std::size_t q = 0; q < weights; ++q) {
      all(static_cast<Eigen::Index>(bit), anchors.of_bit[bit][q]) =
          descent.weights()(static_cast<Eigen::Index>(q), static_cast<Eigen::Index>(bit));
    }
  }
  if (linear) return affine_network(small_product(all, features.anchors.cast<double>().transpose()), features.mean);
  function.network = affine_network(all, features.mean);
  return function;
}

Trained train_bre(const TrainingTask& task, const SupervisedBreOptions& options) {
  mean_of(task.x, task.threads);  // reports numbers that are not finite, by their row in the whole data
  LabelledSamples samples = labelled_samples(task.x, task.labels, options.per_class, task.seed, "bre");
  return {fit(task, options, samples.x, PairTargets(std::move(samples.labels)))};
}

MatrixXf unit_vectors(const Vectors& x, Threads& threads) {
  MatrixXf unit(x.dimension(), x.size());
  for_each_centred_tile(x, mean_of(x, threads), threads, [&](std::size_t first, MatrixXf centred) {
    scale_to_length_one(centred);
    unit.middleCols(static_cast<Eigen::Index>(first), centred.cols()) = centred;
  });
  return unit;
}

Trained train_bre_u(const TrainingTask& task, const UnsupervisedBreOptions& options) {
  mean_of(task.x, task.threads);
  Vectors x = task.x;
  if (options.samples > 0 && static_cast<std::size_t>(options.samples) < x.size()) {
    Random random(task.seed);
    auto rows = random_rows(x.size(), static_cast<std::size_t>(options.samples), random);
    std::sort(rows.begin(), rows.end());
    x = gather(x, rows);
  }
  return {fit(task, options, x, PairTargets(unit_vectors(x, task.threads)))};
}

OptionList common_options(BreOptions& o) {
  return {
      word_option("kernel", "kernel between samples and anchors", o.kernel, {"linear", "gaussian"}),
      integer_option("anchors", "random samples that the bits draw their anchors from", o.anchors, 1, 20000),
      integer_option("weights", "number of anchors per bit", o.weights, 1, 20000),
      real_option("width", "width of the Gaussians: exp(-d^2 / (width * mean squared distance))", o.width, 1e-6, 1e6),
      integer_option("cycles", "passes over all weights, at most", o.cycles, 0, 100000)};
}

OptionList supervised_options(SupervisedBreOptions& o) {
  OptionList options = common_options(o);
  options.push_back(
      integer_option("per_class", "random samples of each class to learn from; 0: all", o.per_class, 0, 1 << 30));
  return options;
}

OptionList unsupervised_options(UnsupervisedBreOptions& o) {
  OptionList options = common_options(o);
  options.push_back(integer_option("samples", "random samples to learn from; 0: all", o.samples, 0, 1 << 30));
  return options;
}

// The authors' kernel; and what the BDNN paper's comparison trains on, or the authors.
SupervisedBreOptions bre_paper_profile() {
  SupervisedBreOptions options;
  options.kernel = Kernel::linear;
  options.per_class = 3000;
  return options;
}
UnsupervisedBreOptions bre_u_paper_profile() {
  UnsupervisedBreOptions options;
  options.samples = 1000;
  return options;
}

constexpr const char* kReference =
    "Kulis and Darrell, Learning to hash with binary reconstructive embeddings, NIPS 2009";

}  // namespace

Method bre_method() {
  return make_method<SupervisedBreOptions>(
      {.name = "bre",
       .summary = "kernels at anchors; Hamming distances reproduce those of labels",
       .reference = kReference,
       .options = supervised_options,
       .profiles = {{"paper", "linear kernel; 3,000 samples of each class, as in the BDNN paper's comparison",
                     bre_paper_profile()}},
       .supervised = true,
       .train = train_bre});
}

Method bre_u_method() {
  return make_method<UnsupervisedBreOptions>(
      {.name = "bre-u",
       .summary = "kernels at anchors; Hamming distances reproduce those of the vectors",
       .reference = kReference,
       .options = unsupervised_options,
       .profiles = {{"paper", "1,000 samples, as in the authors' experiments", bre_u_paper_profile()}},
       .train = train_bre_u});
}

}  // namespace bdnn
