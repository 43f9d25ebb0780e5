// The state of an alternation after a round, in a file: enough to resume as if it had not been interrupted.
#pragma once

#include <optional>
#include <string>

#include "bdnn/progress.h"
#include "methods/binary_network/alternation.h"

namespace bdnn {

struct AlternationState {
  int iteration = -1;    // the last complete one
  int start_rounds = 0;  // complete rounds of the start, before the first iteration
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

// The saved state; nullopt if there is no such file. The checkpoint of another training run raises Error.
std::optional<AlternationState> load_checkpoint(const CheckpointPlace& place, std::size_t parameters, std::size_t bits,
                                                std::size_t samples);

}  // namespace bdnn
