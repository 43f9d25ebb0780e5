#include "methods/sdh/sdh.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/blocks.h"
#include "base/random.h"
#include "codes/hamming.h"
#include "learn/affine.h"
#include "learn/anchors.h"
#include "learn/class_codes.h"
#include "learn/class_labels.h"
#include "learn/kernel_features.h"
#include "linalg/product.h"
#include "methods/sdh/sdh_steps.h"

namespace bdnn {
namespace {

TargetCodes random_codes(std::size_t bits, std::size_t samples, std::uint64_t seed) {
  Random random(seed);
  TargetCodes codes(bits, samples);
  std::vector<float> b(bits);
  std::uint64_t draw = 0;
  std::size_t left = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    for (float& sign : b) {
      if (left == 0) {
        draw = random.bits();
        left = 64;
      }
      sign = sign_of_bit((draw & 1) != 0);
      draw >>= 1;
      --left;
    }
    codes.pack(i, 1, b.data());
  }
  return codes;
}

// Labelled samples: all, or some of them.
struct Labelled {
  TrainingSet set;
  std::vector<std::int32_t> class_of;

  Labelled(const Vectors& x, const ClassLabels& labels, const std::vector<std::uint32_t>& rows)
      : set(x, rows, {VectorXd::Zero(static_cast<Eigen::Index>(x.dimension())), 1}) {
    for (const auto row : rows) class_of.push_back(labels.of[row]);
  }
};

// The mean of ||b - F(x)||^2, where b is the code of the sample's class.
double error_on(const Labelled& samples, const TargetCodes& class_codes, const AnchorKernel& kernel,
                const SdhSteps& steps, Threads& threads) {
  const std::size_t bits = class_codes.bits();
  const MatrixXf rounded = steps.p().cast<float>();
  const auto p = PackedMatrix<float>::from_rows(rounded.data(), bits, kernel.anchors(), kernel.anchors());
  const VectorXf c = steps.c().cast<float>();
  double total = 0;
  sum_over_samples(threads, samples.set.size(), 0.0, total, [&](const Range& block, double& sum) {
    const std::size_t tile = samples_per_tile(samples.set.dimension());
    std::vector<float> x(tile * samples.set.dimension());
    EncoderScratch scratch;
    MatrixXf f(bits, tile);
    VectorXf b(bits);
    for_each_tile(block, tile, [&](std::size_t first, std::size_t count) {
      samples.set.load(first, count, x.data());
      multiply(p, kernel.features(x.data(), count, scratch), count, kernel.anchors(), f.data(), bits);
      for (std::size_t i = 0; i < count; ++i) {
        class_codes.unpack(static_cast<std::size_t>(samples.class_of[first + i]), b.data());
        sum += static_cast<double>((b - c - f.col(static_cast<Eigen::Index>(i))).squaredNorm());
      }
    });
  });
  return total / static_cast<double>(samples.set.size());
}

// Tries widths that double, and keeps the one with which codes of classes are predicted best for held-out samples.
// `function` has the anchors, and a width of 1.
double choose_width(const TrainingTask& task, const ClassLabels& labels, const std::vector<std::uint32_t>& rows,
                    AnchorNetwork function, const SdhOptions& options) {
  constexpr double kUsual = 0.5;
  constexpr std::size_t kFewest = 50;       // with fewer labelled samples, nothing is held out
  constexpr std::size_t kTrain = 8 * 1024;  // the best width hardly changes with more
  constexpr std::size_t kHeldOut = 2 * 1024;
  if (rows.size() < kFewest) return kUsual;
  Random random(task.seed);
  const std::size_t held_out = std::min(kHeldOut, rows.size() / 5);
  const std::size_t train = std::min(kTrain, rows.size() - held_out);
  const auto order = random_rows(rows.size(), held_out + train, random);
  std::vector<std::uint32_t> parts[2];
  for (std::size_t i = 0; i < order.size(); ++i) parts[i < held_out ? 1 : 0].push_back(rows[order[i]]);
  const Labelled seen(task.x, labels, parts[0]);
  const Labelled unseen(task.x, labels, parts[1]);
  const TargetCodes codes = class_codes(labels.classes, task.bits, task.seed);
  TargetCodes of_samples(task.bits, parts[0].size());
  for (std::size_t i = 0; i < parts[0].size(); ++i) {
    const auto own = static_cast<std::size_t>(seen.class_of[i]);
    std::copy_n(&codes.bytes()[own * codes.stride()], codes.stride(), &of_samples.bytes()[i * codes.stride()]);
  }
  const float unit_gamma = function.gamma;
  std::size_t tried = 0;
  const auto error = [&](double width) {
    function.gamma = unit_gamma / static_cast<float>(width);
    const AnchorKernel kernel(function);
    SdhSteps steps(seen.set, seen.class_of, labels.classes, kernel, options, of_samples, task.threads);
    steps.fit_predictions();
    ++tried;
    task.progress.update("widths of the Gaussians", tried, tried + 1);
    return error_on(unseen, codes, kernel, steps, task.threads);
  };
  constexpr double kNarrowest = kUsual / 64;
  constexpr double kWidest = kUsual * 64;
  double best = kUsual;
  double least = error(best);
  for (const double factor : {2.0, 0.5}) {
    const double from = best;
    for (double width = best * factor; width >= kNarrowest && width <= kWidest; width *= factor) {
      const double found = error(width);
      if (found >= least) break;
      least = found;
      best = width;
    }
    if (best != from) break;  // the optimum is on this side
  }
  return best;
}

Trained train_sdh(const TrainingTask& task, const SdhOptions& options) {
  const std::size_t n = anchor_count(options.anchors, SdhOptions().anchors, task.x.size());
  AnchorNetwork function = sample_anchors(task.x, n, 1, task.seed, task.threads);
  const ClassLabels labels = number_classes(task.labels, "sdh");
  const Labelled labelled(task.x, labels, labels.labelled_rows());
  const TrainingSet& set = labelled.set;
  const double width = options.width ? *options.width : choose_width(task, labels, set.rows(), function, options);
  function.gamma /= static_cast<float>(width);
  const AnchorKernel kernel(function);
  const auto total = static_cast<std::size_t>(options.iterations) + 1;
  task.progress.update("steps", 0, total);
  SdhSteps steps(set, labelled.class_of, labels.classes, kernel, options,
                 random_codes(task.bits, set.size(), task.seed), task.threads);
  for (int i = 0;; ++i) {
    steps.fit_labels();
    steps.fit_predictions();
    task.progress.update("steps", static_cast<std::size_t>(i) + 1, total);
    task.progress.round({{"iteration", i},
                         {"objective", steps.objective()},
                         {"labels", steps.label_error()},
                         {"predictions", steps.prediction_error()}});
    if (i == options.iterations || steps.improve() == 0) break;
  }
  function.network = affine_network(steps.p().transpose(), VectorXd::Zero(steps.p().rows()));
  const VectorXf bias = steps.c().cast<float>();
  function.network.layers.front().bias.assign(bias.begin(), bias.end());
  return {std::move(function), {}, fmt::format("width {:.3g}", width)};
}

}  // namespace

Method sdh_method() {
  return make_method<SdhOptions>(
      {.name = "sdh",
       .summary = "codes that a linear classifier reads, predicted by Gaussians around anchors",
       .reference = "Shen, Shen, Liu and Shen, Supervised discrete hashing, CVPR 2015",
       .options = [](SdhOptions& o) -> OptionList {
         return {
             integer_option("anchors", "random samples with a Gaussian around each", o.anchors, 1, 10000),
             optional_real_option(
                 "width",
                 "width of the Gaussians, as a share of the mean squared distance; auto: chosen on held-out samples",
                 o.width, 1e-4, 1e4),
             word_option("loss", "loss of the classifier: the squared error, or one linear SVM per class", o.loss,
                         {"squared", "hinge"}),
             real_option("lambda", "weight decay of the classifier", o.lambda, 1e-9, 1e12),
             real_option("nu", "weight of the distance between codes and their predictions", o.nu, 0, 1e12),
             real_option("decay", "weight decay of the predictor, as a share of the mean variance of a Gaussian",
                         o.decay, 0, 1e6),
             integer_option("iterations", "iterations of the three steps", o.iterations, 1, 100000)};
       },
       .supervised = true,
       .train = train_sdh});
}

}  // namespace bdnn
