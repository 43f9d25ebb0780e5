// The state of an alternation after a round, in a file: enough to go on as if nothing had happened.
#pragma once

#include <optional>
#include <string>

#include "bdnn/progress.h"
#include "methods/binary_network/alternation.h"

namespace bdnn {

struct AlternationState {
  int iteration = -1;    // the last that is complete
  int start_rounds = 0;  // rounds of the start that are complete, while there is no iteration
  std::vector<float> parameters;
  TargetCodes codes;
  std::vector<float> step_state;
  int without_gain = 0;              // iterations since the best
  std::optional<double> path_decay;  // of the linear path, where it was fitted
  std::optional<double> itq_score;   // AlternationResult::itq_score
  AlternationResult best;
  std::vector<Progress::Round> rounds;
};

void save_checkpoint(const AlternationState& state, const CheckpointPlace& place);

// The state that is kept there; nothing if there is no such file. A file of another training raises Error.
std::optional<AlternationState> load_checkpoint(const CheckpointPlace& place, std::size_t parameters, std::size_t bits,
                                                std::size_t samples);

}  // namespace bdnn
