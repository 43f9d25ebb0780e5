#include "methods/classifier/classifier.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "learn/class_codes.h"
#include "learn/class_head.h"
#include "learn/class_samples.h"
#include "learn/linear_svm.h"
#include "learn/moments.h"
#include "learn/network_start.h"
#include "model/network_form.h"

namespace bdnn {
namespace {

// One class against the rest, for each weight C of the loss.
std::vector<Network> svm_class_scores(const TrainingSet& set, const std::vector<std::int32_t>& class_of,
                                      std::size_t classes, const Moments& moments, const std::vector<double>& weights,
                                      Threads& threads) {
  TargetCodes own(classes, set.size());
  std::vector<float> signs(classes);
  for (std::size_t i = 0; i < set.size(); ++i) {
    std::fill(signs.begin(), signs.end(), -1.0F);
    signs[static_cast<std::size_t>(class_of[i])] = 1;
    own.pack(i, 1, signs.data());
  }
  const LayerSizes sizes({set.dimension(), classes});
  std::vector<Network> networks;
  LinearSvms svms = LinearSvms::zero(set.dimension(), classes);  // each starts where the one before ended
  for (const double weight : weights) {
    const LinearSvmSolver solver(set, moments, {.c = weight, .tolerance = 1e-4}, threads);
    solver.improve(own, svms);
    std::vector<float> parameters;
    for (std::size_t k = 0; k < set.dimension(); ++k) {
      for (const double w : svms.w.row(static_cast<Eigen::Index>(k))) parameters.push_back(static_cast<float>(w));
    }
    for (const double b : svms.b) parameters.push_back(static_cast<float>(b));
    networks.push_back(to_network(sizes, parameters, set.scaling().offset, set.scaling().factor));
  }
  return networks;
}

Trained train_classifier(const TrainingTask& task, const ClassifierOptions& options) {
  mean_of(task.x, task.threads);  // reports numbers that are not finite, by their row in the data
  const LabelledSamples samples = labelled_samples(task.x, task.labels, 0, task.seed, "classifier");
  const Vectors& x = samples.x;
  const Moments moments = moments_of(x, task.threads, task.progress);
  constexpr double kSpread = 50;  // of the scaled samples; the decays and weights below refer to it
  const Scaling scaling = scaling_for(x, moments, kSpread, task.threads);
  const auto fit = [&](const std::vector<std::uint32_t>& rows, const std::vector<double>& settings) {
    const TrainingSet set(x, rows, scaling);
    std::vector<std::int32_t> classes;
    for (const auto row : rows) classes.push_back(samples.labels.of[row]);
    return options.kind == ClassifierOptions::Kind::ridge
               ? ridge_class_scores(set, classes, samples.labels.classes, settings, task.threads)
               : svm_class_scores(set, classes, samples.labels.classes, moments, settings, task.threads);
  };

  // The decay, or the weight of the loss, is chosen on a fifth of the samples.
  const std::vector<double> settings = options.kind == ClassifierOptions::Kind::ridge
                                           ? std::vector<double>{1e-4, 1e-3, 1e-2, 1e-1, 1, 10}
                                           : std::vector<double>{1e-4, 1e-3, 1e-2, 1e-1};
  Random random(task.seed);
  std::vector<std::uint32_t> rows = random_rows(x.size(), x.size(), random);
  const auto fifth = static_cast<std::ptrdiff_t>(rows.size() / 5);
  const std::vector<std::uint32_t> tested(rows.begin(), rows.begin() + fifth);
  const std::vector<std::uint32_t> fitted(rows.begin() + fifth, rows.end());
  double chosen = settings[settings.size() / 2];
  std::size_t best = 0;
  const std::vector<Network> tried = fit(fitted, settings);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const std::size_t right = count_right(tried[i], x, tested, samples.labels.of, task.threads);
    if (right <= best) continue;
    best = right;
    chosen = settings[i];
  }
  std::sort(rows.begin(), rows.end());
  const TargetCodes codes = class_codes(samples.labels.classes, task.bits, task.seed);
  Trained trained;
  trained.function = with_class_head(fit(rows, {chosen}).front(), codes, x, rows);
  if (!tested.empty()) {
    trained.outcome = fmt::format(
        "{} {}, right for {:.2f}% of the held-out samples",
        options.kind == ClassifierOptions::Kind::ridge ? "ridge regression with decay" : "SVMs with C =", chosen,
        100 * static_cast<double>(best) / static_cast<double>(tested.size()));
  }
  return trained;
}

}  // namespace

Method classifier_method() {
  ClassifierOptions svm;
  svm.kind = ClassifierOptions::Kind::svm;
  return make_method<ClassifierOptions>(
      {.name = "classifier",
       .summary = "codes of the class that a linear classifier predicts: the yardstick",
       .reference =
           "Dietterich and Bakiri, Solving multiclass learning problems via error-correcting output codes, 1995",
       .options = [](ClassifierOptions& o) -> OptionList {
         return {word_option("kind", "kind of linear classifier", o.kind, {"ridge", "svm"})};
       },
       .profiles = {{"svm", "linear SVMs in place of the ridge regression", svm}},
       .supervised = true,
       .train = train_classifier});
}

}  // namespace bdnn
