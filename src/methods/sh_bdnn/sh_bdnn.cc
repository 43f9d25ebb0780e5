#include "methods/sh_bdnn/sh_bdnn.h"

#include "base/error.h"
#include "data/format.h"
#include "learn/class_head.h"
#include "learn/class_labels.h"
#include "learn/class_samples.h"
#include "methods/binary_network/binary_network.h"
#include "methods/sh_bdnn/pairwise_labels.h"

namespace bdnn {
namespace {

struct ShBdnnOptions : BinaryNetworkOptions {
  int per_class = 0;                  // samples of each class to learn from, at random; 0: all
  std::optional<double> pair_weight;  // w, of the pairwise term
  bool class_codes = true;            // every class has a code, which B of its samples is
  double classes = 1;                 // weight of the classes' term
  std::optional<double> temperature;  // of it; where there is no value, bits / 8
  int rotations = 10;                 // tried before each B step, where classes have no codes
  bool class_head = true;             // layers that give the very code of a class are tried at the end

  ShBdnnOptions() {
    path = PathStart::fitted;
    hidden = "128,64";
    first_rate = 5e-3;
    rate = 5e-3;
    alternation.adam.batch = 100;
    alternation.iterations = 3;
    alternation.patience = 1;
    alternation.first_adam.steps = 4000;
    alternation.adam.steps = 2000;
  }
};

constexpr Lambdas kShBdnnPaperLambdas{1e-3, 5, 1, 1e-4};

// Class codes are independent and balanced by themselves. The binary term is a sum over bits and the classes' term is
// not, so its weight is per bit: both then mean the same at every length.
Lambdas default_lambdas(std::size_t bits) { return {3e-5, 0.4 / static_cast<double>(bits), 0, 0}; }

// The paper's settings and, where it is silent, its authors'.
ShBdnnOptions sh_bdnn_paper_profile() {
  ShBdnnOptions options;
  options.spread = 0;
  options.hidden = "auto";
  options.first_rate.reset();
  options.rate.reset();
  options.weight_start = WeightStart::second_moment;
  options.per_class = 3000;
  options.pair_weight = 1;
  options.path = PathStart::none;
  options.rotations = 0;
  options.class_codes = false;
  options.class_head = false;
  options.classes = 0;
  options.lambda1 = kShBdnnPaperLambdas.weights;
  options.lambda2 = kShBdnnPaperLambdas.binary;
  options.lambda3 = kShBdnnPaperLambdas.independence;
  options.lambda4 = kShBdnnPaperLambdas.balance;
  options.alternation.solver = Solver::lbfgs;
  options.alternation.iterations = 5;
  options.alternation.patience = 1;
  return options;
}

// The term grows with the number of samples; with this it is the mean over pairs, halved.
double default_pair_weight(std::size_t samples) { return 1 / static_cast<double>(samples); }

// Networks that end in the codes of classes (learn/class_head.h): behind what was trained, behind a ridge regression,
// and behind the sum of both.
std::vector<Alternative> class_heads(const TrainingTask& task, const Network& trained, const BinaryNetworkData& data,
                                     const PairwiseLabels& step) {
  const TargetCodes& codes = step.codes_of_classes();
  const ClassLabels labels = number_classes(task.labels, "sh-bdnn");
  std::vector<std::uint32_t> training;
  for (const auto row : data.set.rows()) {
    if (labels.labelled(row)) training.push_back(row);
  }
  const Scaling scaling = data.set.scaling();
  const double decay = choose_ridge_decay(task.x, scaling, training, labels.of, codes.size(),
                                          {1e-4, 1e-3, 1e-2, 1e-1, 1, 10}, task.seed, task.threads);
  const auto ridge = [&task, &codes, labels, scaling, decay](const std::vector<std::uint32_t>& rows) {
    std::vector<std::int32_t> classes;
    for (const auto row : rows) classes.push_back(labels.of[row]);
    return ridge_class_scores(TrainingSet(task.x, rows, scaling), classes, codes.size(), {decay}, task.threads).front();
  };
  const auto head = [&task, &codes](const Network& scores, const std::vector<std::uint32_t>& rows) {
    return with_class_head(scores, codes, task.x, rows);
  };
  const Network own = class_scores(trained, codes);
  const Network fitted = ridge(training);
  const std::vector<std::uint32_t> all = labels.labelled_rows();
  // In doubt the sum: two classifiers that err differently, and codes of one class that agree.
  return {{"the class head of it and a ridge classifier", head(sum_of_scores(own, fitted), training),
           [=] { return head(sum_of_scores(own, ridge(all)), all); }},
          {"its class head", head(own, training)},
          {"a ridge classifier's class head", head(fitted, training), [=] { return head(ridge(all), all); }}};
}

Trained train_sh_bdnn(const TrainingTask& task, const ShBdnnOptions& options) {
  if (options.per_class > 0) {
    const auto rows = choose_per_class(task.labels, options.per_class, task.seed);
    std::vector<std::int64_t> labels;
    for (const auto row : rows) labels.push_back(task.labels[row]);
    const Vectors some = gather(task.x, rows);
    ShBdnnOptions all = options;
    all.per_class = 0;
    return train_sh_bdnn({some, labels, task.bits, task.seed, task.checkpoint, task.threads, task.progress}, all);
  }
  const auto make_step = [&](const BinaryNetworkData& data) {
    auto step = std::make_unique<PairwiseLabels>(data.labels, task.bits,
                                                 options.pair_weight.value_or(default_pair_weight(data.set.size())));
    if (options.class_codes) {
      const double temperature = options.temperature.value_or(static_cast<double>(task.bits) / 8);
      step->set_class_codes(options.classes, temperature, task.seed);
    }
    step->turn_outputs(options.rotations, data.queries, data.selection, task.seed, task.threads);
    return step;
  };
  MakeAlternatives heads;
  if (options.class_codes && options.class_head) {
    heads = [&](const Network& trained, const BinaryNetworkData& data, const CodeStep& step) {
      return class_heads(task, trained, data, static_cast<const PairwiseLabels&>(step));
    };
  }
  TrainedBinaryNetwork trained =
      train_binary_network(task, options, options.lambdas(default_lambdas(task.bits)), make_step, heads);
  return {std::move(trained.network), {}, std::move(trained.outcome)};
}

OptionList options_of(ShBdnnOptions& o) {
  OptionList options = binary_network_options(o);
  options.push_back(
      integer_option("per_class", "random samples of each class to train on; 0: all", o.per_class, 0, 1 << 30));
  options.push_back(
      optional_real_option("pair_weight", "weight of the pairwise term; auto: 1 / samples", o.pair_weight, 0, 1e12));
  options.push_back(flag_option("class_codes", "give every class a code of its own, and train its samples towards it",
                                o.class_codes));
  options.push_back(real_option("classes",
                                "weight of the classes' term, which brings samples to the code of their class; 0: none",
                                o.classes, 0, 1e12));
  options.push_back(optional_real_option("temperature", "temperature of the classes' term; auto: bits / 8",
                                         o.temperature, 1e-3, 1e12));
  options.push_back(
      flag_option("class_head", "at the end, try layers that map samples to the exact code of a class", o.class_head));
  options.push_back(integer_option("rotations", "rotations of the outputs tried before each B step; the best is taken",
                                   o.rotations, 0, 10000));
  return options;
}

}  // namespace

Method sh_bdnn_method() {
  return make_method<ShBdnnOptions>(
      {.name = "sh-bdnn",
       .summary = "a deep network whose codes agree with pairs of labels",
       .reference = "Do, Doan and Cheung, Learning to hash with binary deep neural network, ECCV 2016",
       .options = options_of,
       .profiles = {{"paper", "the paper's settings and, where it is silent, its authors'", sh_bdnn_paper_profile()}},
       .supervised = true,
       .resumable = true,
       .train = train_sh_bdnn});
}

}  // namespace bdnn
