// The training loop that UH-BDNN and SH-BDNN share: network and codes are improved in turn, the best iteration is kept,
// checkpoints are written and rounds reported.
#pragma once

#include <optional>
#include <string>

#include "learn/adam.h"
#include "learn/lbfgs.h"
#include "learn/objective.h"
#include "methods/binary_network/selection.h"
#include "methods/method.h"

namespace bdnn {

// The part specific to a method: its similarity term, and the B step that belongs to it.
class CodeStep : public Similarity {
 public:
  virtual std::string similarity_name() const = 0;
  // An additional term of the (W,c) step by Adam, and its name; null: none.
  virtual BatchTerm* batch_term() { return nullptr; }
  virtual std::string batch_term_name() const { return ""; }
  // Receives the first codes ...
  virtual void start(const TrainingSet& set, TargetCodes& codes) = 0;
  // ... and may improve them before there is a network, in start_rounds() rounds; each ends with a checkpoint.
  virtual int start_rounds() const { return 0; }
  virtual void start_round(int /*round*/, const TrainingSet& /*set*/, TargetCodes& /*codes*/) {}
  // The B step: better codes for the network as it is. It may first rotate the network's outputs, if that leaves
  // the objective unchanged.
  virtual void improve(const LayerSizes& sizes, const TrainingSet& set, std::vector<float>& parameters,
                       TargetCodes& codes) = 0;
  // The learned state as numbers; restore() takes it back, after `start_rounds` rounds of the start.
  virtual std::vector<float> state() const { return {}; }
  virtual void restore(const std::vector<float>& state, int /*start_rounds*/) { (void)state; }
};

enum class Solver { adam, lbfgs };

enum class Fit { nothing, last_layer, linear_path };

struct AlternationOptions {
  Lambdas lambdas;
  Fit fit = Fit::nothing;           // what is fitted to the first codes, before the first network step
  bool start_is_candidate = false;  // the start may be kept, as iteration -1
  int iterations = 10;              // T
  int patience = 0;                 // stop after this many iterations in a row without improvement; 0: never before T
  Solver solver = Solver::adam;
  AdamOptions first_adam;  // of the first (W,c) step, which may start far from the optimum ...
  AdamOptions adam;        // ... and of the later ones
  LbfgsOptions lbfgs;
};

struct AlternationResult {
  std::vector<float> parameters;  // of the iteration kept
  std::vector<float> state;       // of the code step, at that iteration
  int iteration = 0;
  int iterations = 0;                    // number of iterations after the first
  std::optional<double> score;           // on the held-out samples: HeldOutScore::value()
  std::optional<double> start_score;     // the same for the start, if it is a candidate
  std::optional<double> itq_score = {};  // the same for ITQ's codes, if these are not the start
  double differing = 0;                  // share of bits in which the network's codes and B differ
};

// The starting point of an alternation.
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
