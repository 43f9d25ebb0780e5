#include "methods/fasthash/fasthash.h"

#include "base/error.h"
#include "learn/class_samples.h"
#include "learn/moments.h"
#include "learn/tree_booster.h"

namespace bdnn {
namespace {

Trained train_fasthash(const TrainingTask& task, const FastHashOptions& options) {
  mean_of(task.x, task.threads);  // reports numbers that are not finite, by their row in the whole data
  const LabelledSamples samples = labelled_samples(task.x, task.labels, 0, task.seed, "fasthash");
  const BinnedFeatures x(samples.x, task.threads);
  if (x.varying().empty()) misuse("all {} vectors are the same, or nearly all", samples.x.size());
  TreeBooster booster(x,
                      {static_cast<std::size_t>(options.trees), static_cast<std::size_t>(options.depth),
                       static_cast<std::size_t>(options.features), options.trim},
                      task.threads);
  BitInference inference(samples.labels, task.bits, options.loss, task.seed, task.threads,
                         static_cast<std::size_t>(options.groups));
  BoostedTrees function;
  function.dimension = x.dimension();
  function.bits = task.bits;
  function.trees = static_cast<std::size_t>(options.trees);
  function.depth = static_cast<std::size_t>(options.depth);
  Random random(task.seed);
  std::vector<float> outputs;
  task.progress.update("bits", 0, task.bits);
  for (std::size_t bit = 0; bit < task.bits; ++bit) {
    const BitInference::Bit inferred = inference.next();
    booster.fit(inferred.z, random, function, outputs);
    inference.append(outputs);
    double missed = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) missed += (outputs[i] >= 0) != (inferred.z[i] > 0) ? 1 : 0;
    // Says so if not all pairs are used.
    const std::string stage = inferred.samples == outputs.size() ? "bits"
                                                                 : fmt::format("bits, from pairs of {} of {} samples",
                                                                               inferred.samples, outputs.size());
    task.progress.update(stage, bit + 1, task.bits);
    task.progress.round({{"bit", static_cast<double>(bit + 1)},
                         {"missed", missed / static_cast<double>(outputs.size())},
                         {"groups", static_cast<double>(inference.groups())},
                         {"objective", inferred.objective}});
  }
  return {std::move(function)};
}

FastHashOptions fasthash_paper_profile() {
  FastHashOptions options;
  options.depth = 4;
  options.features = 200;
  options.trim = 0.99;
  return options;
}

}  // namespace

Method fasthash_method() {
  return make_method<FastHashOptions>(
      {.name = "fasthash",
       .summary = "boosted decision trees; bit by bit, codes agree with pairs of labels",
       .reference = "Lin, Shen, Shi, van den Hengel and Suter, Fast supervised hashing with decision trees for "
                    "high-dimensional data, CVPR 2014",
       .options = [](FastHashOptions& o) -> OptionList {
         return {integer_option("trees", "trees per bit", o.trees, 1, 100000),
                 integer_option("depth", "depth of each tree", o.depth, 1, 8),
                 integer_option("features", "random features that each tree may use; at most the dimension", o.features,
                                1, 1 << 30),
                 real_option("trim", "choose splits on the samples that carry this share of the weight; 1: all", o.trim,
                             0.1, 1),
                 word_option("loss", "loss of pairs of samples", o.loss, {"hinge", "squared"}),
                 integer_option("groups",
                                "groups of samples with the same class and code; if there are more, only pairs of this "
                                "many random samples count",
                                o.groups, 2, 1 << 24)};
       },
       .profiles = {{"paper", "the settings of the authors' program", fasthash_paper_profile()}},
       .supervised = true,
       .train = train_fasthash});
}

}  // namespace bdnn
