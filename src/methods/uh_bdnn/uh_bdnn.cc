#include "methods/uh_bdnn/uh_bdnn.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "methods/binary_network/binary_network.h"
#include "methods/binary_network/training_neighbours.h"
#include "methods/uh_bdnn/reconstruction_term.h"

namespace bdnn {
namespace {

// The bits that the decoder takes together.
enum class Group { automatic, one, four, eight };

// Automatic: the largest size for which there are enough samples to learn the columns of the values from, and few
// enough columns that the B step, which works on their square, stays in the cache.
std::size_t size_of(Group group, std::size_t bits, std::size_t samples) {
  constexpr std::size_t kSamplesPerFeature = 5;
  constexpr std::size_t kColumnsInCache = 2048;
  if (group != Group::automatic) return group == Group::one ? 1 : group == Group::four ? 4 : 8;
  for (const std::size_t size : {8, 4}) {
    const BitGroups groups(bits, size);
    if (groups.columns() <= kColumnsInCache && groups.features() * kSamplesPerFeature <= samples) return size;
  }
  return 1;
}

struct UhBdnnOptions : BinaryNetworkOptions {
  double neighbours = 1;              // weight of the neighbours' term
  std::optional<double> far;          // in that term, weight of farther neighbours being nearer than the rest
  std::optional<double> temperature;  // of that term; neighbour_term() has rules for both defaults
  int anchors = 5000;                 // samples whose neighbours it uses
  int near = 50;                      // number of their neighbours that count as near
  CodeStart code_start = CodeStart::outputs;
  int sweeps = 100;            // of the B step at most
  int local_search = 0;        // rounds after a descent of the B step
  int code_rounds = 0;         // alternations of decoder and codes before the first network step
  Group group = Group::one;    // bits that the decoder takes together
  double decoder_decay = 0.3;  // lambda1 of the decoder

  UhBdnnOptions() {
    path = PathStart::itq;
    alternation.iterations = 3;
    alternation.patience = 1;
    alternation.adam.batch = 288;
    alternation.first_adam.steps = 2000;
    alternation.adam.steps = 1000;
  }
};

constexpr Lambdas kUhBdnnPaperLambdas{1e-5, 5e-2, 1e-2, 1e-6};

// With the neighbours' term, the others only keep the outputs near binary and the bits different; scaled per bit, so
// that they mean the same at every length. Without it, the paper's.
Lambdas default_lambdas(std::size_t bits, bool neighbours) {
  const auto l = static_cast<double>(bits);
  return neighbours ? Lambdas{1e-4, 0.08 / l, 3e-3 / l, 1e-6} : kUhBdnnPaperLambdas;
}

// 0 where at most 1 in 800 samples is a neighbour, 1 where at least 1 in 80 is; in between by the root of their share.
double commonness(std::size_t neighbours, std::size_t samples) {
  const double share = static_cast<double>(neighbours) / static_cast<double>(samples);
  return std::clamp((std::sqrt(800 * share) - 1) / (std::sqrt(10.0) - 1), 0.0, 1.0);
}

// Near neighbours before farther ones, and these before the rest. A low temperature ranks few and near ones better, a
// high one many and far ones. The rarer near neighbours are, the less they tell about the rest.
NeighbourTerm neighbour_term(NeighbourLists lists, const UhBdnnOptions& options, std::size_t bits,
                             std::size_t samples) {
  const auto temperature = [&](std::size_t neighbours) {
    return options.temperature.value_or(std::sqrt(static_cast<double>(bits)) / (3 - commonness(neighbours, samples)));
  };
  const double far = options.far.value_or(0.3 * (1 - commonness(lists.near, samples)));
  std::vector<NeighbourLevel> levels = {{lists.near, options.neighbours, temperature(lists.near)}};
  if (lists.per_anchor > lists.near) {
    levels.push_back({lists.per_anchor, far * options.neighbours, temperature(lists.per_anchor)});
  }
  return {std::move(lists), std::move(levels)};
}

// The paper's settings and, where it is silent, its authors'.
UhBdnnOptions uh_bdnn_paper_profile() {
  UhBdnnOptions options;
  options.spread = 0;
  options.weight_start = WeightStart::second_moment;
  options.path = PathStart::none;
  options.neighbours = 0;
  options.lambda1 = kUhBdnnPaperLambdas.weights;
  options.lambda2 = kUhBdnnPaperLambdas.binary;
  options.lambda3 = kUhBdnnPaperLambdas.independence;
  options.lambda4 = kUhBdnnPaperLambdas.balance;
  options.decoder_decay = kUhBdnnPaperLambdas.weights;
  options.alternation.solver = Solver::lbfgs;
  options.alternation.iterations = 10;
  options.alternation.patience = 1;  // T is "at most"; the authors stop when held-out mAP no longer rises
  options.code_start = CodeStart::zero;
  options.sweeps = 10;
  return options;
}

// For codes that are decoded: decoder and codes alternate to the end, and the network follows them once.
UhBdnnOptions recall_profile() {
  UhBdnnOptions options;
  options.neighbours = 0;
  options.path = PathStart::fitted;
  options.decoder_decay = 1e-4;
  options.code_rounds = 20;
  options.local_search = 4;
  options.group = Group::automatic;
  options.alternation.iterations = 0;
  options.alternation.first_adam.steps = 4000;
  return options;
}

Trained train_uh_bdnn(const TrainingTask& task, const UhBdnnOptions& options) {
  const std::size_t dimension = task.x.dimension();
  const Lambdas lambdas = options.lambdas(default_lambdas(task.bits, options.neighbours > 0));
  const std::size_t group = size_of(options.group, task.bits, task.x.size());
  if (group > 1 && options.code_start == CodeStart::zero) {
    misuse("code_start=zero works bit by bit; with group={}, use code_start=outputs", group);
  }
  if (!BitGroups::is_possible(task.bits, group)) {
    misuse("a decoder cannot take {} bits in groups of {}: 4 is possible up to 2,048 bits, 8 up to 256", task.bits,
           group);
  }
  if (group > 1 && options.neighbours > 0) {
    misuse(
        "group={} needs codes learned with the decoder, and the neighbours' term learns others; set neighbours=0 too",
        group);
  }
  const auto new_step = [&] {
    return std::make_unique<Reconstruction>(
        task.bits, dimension,
        ReconstructionOptions{options.decoder_decay, lambdas.binary, options.code_start, options.sweeps,
                              options.local_search, options.code_rounds, group},
        task.threads);
  };
  const auto make_step = [&](const BinaryNetworkData& data) {
    auto step = new_step();
    if (options.neighbours == 0) return step;
    constexpr std::uint64_t kOtherSeed =
        0x6a09e667f3bcc909;  // so that anchors are drawn independently of the held-out samples
    NeighbourLists lists = neighbour_lists(task.x, data.set.rows(), static_cast<std::size_t>(options.anchors),
                                           static_cast<std::size_t>(options.near), task.seed ^ kOtherSeed,
                                           task.threads.count(), task.progress);
    if (lists.neighbours.empty()) return step;
    step->set_neighbours(neighbour_term(std::move(lists), options, task.bits, data.set.rows().size()));
    return step;
  };
  const TrainedBinaryNetwork trained = train_binary_network(task, options, lambdas, make_step);
  // With the neighbours' term, the codes are the network's own, and the best decoder is the one for these.
  if (options.neighbours > 0) return {trained.network, {}, trained.outcome};
  const auto kept = new_step();
  kept->restore(trained.state, kept->start_rounds());
  return {trained.network, decoder_layer(kept->decoder(), trained.scaling, group), trained.outcome};
}

OptionList options_of(UhBdnnOptions& o) {
  OptionList options = binary_network_options(o);
  options.push_back(real_option("neighbours",
                                "weight of the neighbours' term, which keeps near neighbours near; 0: no such term",
                                o.neighbours, 0, 1e12));
  options.push_back(optional_real_option(
      "far", "neighbours' term: weight of farther neighbours; auto: 0.3 if near ones are rare, down to 0 if not", o.far,
      0, 1e12));
  options.push_back(optional_real_option(
      "temperature", "neighbours' term: temperature; auto: sqrt(bits) / 3 if neighbours are rare, up to sqrt(bits) / 2",
      o.temperature, 1e-3, 1e12));
  options.push_back(
      integer_option("anchors", "neighbours' term: samples whose neighbours it uses", o.anchors, 1, 1 << 24));
  options.push_back(integer_option(
      "near", "neighbours' term: how many neighbours count as near; more for classes, fewer for the nearest", o.near, 1,
      1 << 24));
  options.push_back(word_option("code_start", "where the B step starts: from zero, or from the signs of the outputs",
                                o.code_start, {"zero", "outputs"}));
  options.push_back(integer_option("sweeps", "passes over the bits in a B step, at most", o.sweeps, 1, 1000000));
  options.push_back(
      integer_option("local_search", "rounds of search after a descent of the B step", o.local_search, 0, 1000000));
  options.push_back(integer_option("code_rounds", "alternations of decoder and codes before the first network step",
                                   o.code_rounds, 0, 100000));
  options.push_back(word_option("group", "bits that the decoder takes together; auto: as many as the samples allow",
                                o.group, {"auto", "1", "4", "8"}));
  options.push_back(real_option("decoder_decay", "lambda1 of the decoder", o.decoder_decay, 0, 1e12));
  return options;
}

}  // namespace

Method uh_bdnn_method() {
  return make_method<UhBdnnOptions>(
      {.name = "uh-bdnn",
       .summary = "a deep network whose codes rebuild the samples",
       .reference = "Do, Doan and Cheung, Learning to hash with binary deep neural network, ECCV 2016",
       .options = options_of,
       .profiles = {{"paper", "the paper's settings and, where it is silent, its authors'", uh_bdnn_paper_profile()},
                    {"recall", "codes for search by reconstruction", recall_profile()}},
       .resumable = true,
       .train = train_uh_bdnn});
}

}  // namespace bdnn
