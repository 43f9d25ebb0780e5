#include "methods/binary_network/alternation.h"

#include <bit>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "learn/network_start.h"
#include "methods/binary_network/checkpoint.h"

namespace bdnn {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A seed for each iteration: its random numbers do not depend on earlier iterations, so a resumed training draws the
// same ones.
std::uint64_t iteration_seed(std::uint64_t seed, int iteration) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15 * (static_cast<std::uint64_t>(iteration) + 1);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

double share_of_flipped(const TargetCodes& before, const TargetCodes& after) {
  std::size_t flipped = 0;
  for (std::size_t i = 0; i < after.bytes().size(); ++i) {
    flipped += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(before.bytes()[i] ^ after.bytes()[i])));
  }
  return static_cast<double>(flipped) / static_cast<double>(after.size() * after.bits());
}

class Alternation {
 public:
  Alternation(const LayerSizes& sizes, const TrainingSet& set, const TrainingSet& queries, const Selection& selection,
              CodeStep& step, const AlternationOptions& options, std::uint64_t seed, Threads& threads,
              Progress& progress)
      : sizes_(sizes),
        set_(set),
        queries_(queries),
        selection_(selection),
        step_(step),
        options_(options),
        seed_(seed),
        threads_(threads),
        progress_(progress) {}

  // The (W,c) step: the network follows the codes. Returns the value of the batches' own term.
  double follow_codes(AlternationState& state) {
    Objective<float> objective(sizes_, lambdas(state), step_, state.codes, set_.size(), threads_);
    if (options_.solver == Solver::adam) {
      Random random(iteration_seed(seed_, state.iteration));
      return minimise_adam(objective, set_, sizes_, state.iteration == 0 ? options_.first_adam : options_.adam,
                           step_.batch_term(), random, threads_, progress_, state.parameters);
    }
    const Batch<float> batch = whole<float>(set_);
    std::vector<double> x(state.parameters.begin(), state.parameters.end());
    std::vector<float> rounded(x.size());
    const auto f = [&](const double* point, double* gradient) {
      std::copy_n(point, rounded.size(), rounded.begin());
      return objective.evaluate(rounded.data(), batch, gradient).total();
    };
    minimise_lbfgs(x, f, options_.lbfgs, [&](int iteration) {
      progress_.update("network", static_cast<std::size_t>(iteration),
                       static_cast<std::size_t>(options_.lbfgs.iterations));
    });
    std::copy(x.begin(), x.end(), state.parameters.begin());
    return 0;
  }

  // Fits the linear path to the first codes. Its weight decay is chosen on the held-out samples and kept in the (W,c)
  // steps.
  void fit_path(double decay, AlternationState& state) {
    std::vector<double> decays = {decay};
    for (int i = 0; i < 4 && selection_.possible(); ++i) decays.push_back(10 * decays.back());
    double best = -1;
    const std::vector<float> first = state.parameters;
    fit_linear_path(sizes_, set_, state.codes, decays, threads_, first,
                    [&](double tried, const std::vector<float>& parameters) {
                      const double score =
                          selection_.possible()
                              ? selection_.score(signs_of(parameters, set_), signs_of(parameters, queries_)).value()
                              : 0;
                      if (score <= best) return;
                      best = score;
                      state.parameters = parameters;
                      state.path_decay = tried * options_.lambdas.binary;
                    });
  }

  TargetCodes signs_of(const std::vector<float>& parameters, const TrainingSet& of) const {
    const MatrixXf h = LayerStack<float>(sizes_, parameters.data()).outputs(of, threads_);
    TargetCodes signs(sizes_.bits(), of.size());
    signs.pack(0, of.size(), h.data());
    return signs;
  }

  Lambdas lambdas(const AlternationState& state) const {
    Lambdas all = options_.lambdas;
    all.path = state.path_decay;
    return all;
  }

  // Measures the network, and keeps it if it is the best so far.
  void measure(AlternationState& state, double flipped, double term, double started) {
    Objective<float> objective(sizes_, lambdas(state), step_, state.codes, set_.size(), threads_);
    TargetCodes signs(sizes_.bits(), set_.size());
    const Terms terms =
        objective.evaluate(state.parameters.data(), whole<float>(set_),
                           [&](std::size_t first, std::size_t count, const float* h) { signs.pack(first, count, h); });
    if (!std::isfinite(terms.total())) {
      failure("training has diverged in iteration {}: the objective is {}; set a lower rate or scale the data",
              state.iteration, terms.total());
    }
    Progress::Round round = {
        {"iteration", state.iteration}, {"objective", terms.total()}, {step_.similarity_name(), terms.similarity},
        {"weights", terms.weights},     {"binary", terms.binary},     {"independence", terms.independence},
        {"balance", terms.balance},     {"flipped", flipped},         {"differing", terms.differing}};
    if (step_.batch_term() != nullptr) round.emplace_back(step_.batch_term_name(), term);
    std::optional<double> score;
    if (selection_.possible()) {
      const HeldOutScore held_out = selection_.score(signs, signs_of(state.parameters, queries_));
      round.emplace_back("held_out_mAP", held_out.average_precision);
      if (held_out.precision) round.emplace_back("held_out_precision", *held_out.precision);
      score = held_out.value();
    }
    ++state.without_gain;
    const std::optional<double> start_score = state.iteration < 0 ? score : state.best.start_score;
    if (!score || !state.best.score || *score > *state.best.score) {
      state.best = {state.parameters, step_.state(), state.iteration, 0, score, start_score, terms.differing};
      state.without_gain = 0;
    }
    round.emplace_back("passes", set_.passes());
    round.emplace_back("seconds", now() - started);
    progress_.round(round);
    state.rounds.push_back(std::move(round));
  }

  // One round: the B step, unless it is the first, then the (W,c) step.
  void run(AlternationState& state) {
    const double started = now();
    ++state.iteration;
    double flipped = 0;
    if (state.iteration > 0) {
      const TargetCodes before = state.codes;
      step_.improve(sizes_, set_, state.parameters, state.codes);
      flipped = share_of_flipped(before, state.codes);
    }
    const double term = follow_codes(state);
    measure(state, flipped, term, started);
  }

 private:
  const LayerSizes& sizes_;
  const TrainingSet& set_;
  const TrainingSet& queries_;
  const Selection& selection_;
  CodeStep& step_;
  const AlternationOptions& options_;
  std::uint64_t seed_;
  Threads& threads_;
  Progress& progress_;
};

}  // namespace

AlternationResult alternate(const LayerSizes& sizes, const TrainingSet& set, const TrainingSet& queries,
                            const Selection& selection, CodeStep& step, const std::function<AlternationStart()>& start,
                            const AlternationOptions& options, std::uint64_t seed, const CheckpointPlace& place,
                            Threads& threads, Progress& progress) {
  Alternation alternation(sizes, set, queries, selection, step, options, seed, threads, progress);
  AlternationState state;
  std::optional<AlternationState> kept;
  if (place.resume) kept = load_checkpoint(place, sizes.parameters(), sizes.bits(), set.size());
  const auto keep = [&] {
    state.step_state = step.state();
    if (!place.path.empty()) save_checkpoint(state, place);
  };
  if (kept) {
    state = std::move(*kept);
    step.restore(state.step_state, state.iteration < 0 ? state.start_rounds : step.start_rounds());
    for (const auto& round : state.rounds) progress.round(round);
  } else {
    AlternationStart first = start();
    state.parameters = std::move(first.parameters);
    state.codes = std::move(first.codes);
    state.itq_score = first.itq_score;
    step.start(set, state.codes);
  }
  if (state.iteration < 0) {
    const int rounds = step.start_rounds();
    while (state.start_rounds < rounds) {
      step.start_round(state.start_rounds++, set, state.codes);
      keep();
      progress.update("codes", static_cast<std::size_t>(state.start_rounds), static_cast<std::size_t>(rounds));
    }
    const double decay = options.lambdas.binary > 0 ? options.lambdas.weights / options.lambdas.binary : 0;
    if (options.fit == Fit::last_layer) fit_last_layer(sizes, set, state.codes, decay, threads, state.parameters);
    if (options.fit == Fit::linear_path) alternation.fit_path(decay, state);
  }
  if (options.start_is_candidate && state.iteration < 0) alternation.measure(state, 0, 0, now());
  while (state.iteration < options.iterations) {
    if (options.patience > 0 && state.without_gain >= options.patience) break;
    alternation.run(state);
    keep();
  }
  AlternationResult result = std::move(state.best);
  result.iterations = state.iteration;
  result.itq_score = state.itq_score;
  return result;
}

}  // namespace bdnn
