// What UH-BDNN and SH-BDNN share beyond their objective: a network and codes that follow each other in turn, the round
// that is kept, checkpoints, and the account of it all.
#pragma once

#include <optional>
#include <string>

#include "learn/adam.h"
#include "learn/lbfgs.h"
#include "learn/objective.h"
#include "methods/binary_network/selection.h"
#include "methods/method.h"

namespace bdnn {

// The part of a method: its similarity term, and the B step that belongs to it.
class CodeStep : public Similarity {
 public:
  virtual std::string similarity_name() const = 0;
  // A further term of the (W,c) step by Adam, and its name; null: none.
  virtual BatchTerm* batch_term() { return nullptr; }
  virtual std::string batch_term_name() const { return ""; }
  // Takes the first codes ...
  virtual void start(const TrainingSet& set, TargetCodes& codes) = 0;
  // ... and may better them before there is a network, in so many rounds; a checkpoint is written after each.
  virtual int start_rounds() const { return 0; }
  virtual void start_round(int /*round*/, const TrainingSet& /*set*/, TargetCodes& /*codes*/) {}
  // The B step: better codes for the network as it is. It may turn the network's outputs first, where the objective
  // does not change by it.
  virtual void improve(const LayerSizes& sizes, const TrainingSet& set, std::vector<float>& parameters,
                       TargetCodes& codes) = 0;
  // All that it has learned, as numbers; and back, after so many rounds of the start.
  virtual std::vector<float> state() const { return {}; }
  virtual void restore(const std::vector<float>& state, int /*start_rounds*/) { (void)state; }
};

enum class Solver { adam, lbfgs };

enum class Fit { nothing, last_layer, linear_path };

struct AlternationOptions {
  Lambdas lambdas;
  Fit fit = Fit::nothing;           // what is fitted to the first codes, before the first network step
  bool start_is_candidate = false;  // the start may be what is kept, as iteration -1
  int iterations = 10;              // T
  int patience = 0;                 // end after so many iterations in a row that were no better; 0: never before T
  Solver solver = Solver::adam;
  AdamOptions first_adam;  // of the first (W,c) step, which may start from afar ...
  AdamOptions adam;        // ... and of the later ones
  LbfgsOptions lbfgs;
};

struct AlternationResult {
  std::vector<float> parameters;  // of the iteration that is kept
  std::vector<float> state;       // of the code step, then
  int iteration = 0;
  int iterations = 0;                    // how many were made after the first
  std::optional<double> score;           // on what was held out: HeldOutScore::value()
  std::optional<double> start_score;     // the same of the start, where that is a candidate
  std::optional<double> itq_score = {};  // the same of ITQ's codes, where these are not the start
  double differing = 0;                  // share of bits in which the network's codes and B differ
};

// Where an alternation starts from.
struct AlternationStart {
  std::vector<float> parameters;
  TargetCodes codes;
  std::optional<double> itq_score = {};  // of ITQ's codes on what is held out
};

// Starts, unless it resumes, with iteration 0, in which the network follows the first codes; then alternates. Keeps the
// iteration with the best score, the last one if nothing is held out.
AlternationResult alternate(const LayerSizes& sizes, const TrainingSet& set, const TrainingSet& queries,
                            const Selection& selection, CodeStep& step, const std::function<AlternationStart()>& start,
                            const AlternationOptions& options, std::uint64_t seed, const CheckpointPlace& place,
                            Threads& threads, Progress& progress);

}  // namespace bdnn
