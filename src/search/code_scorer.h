// What a CodeScorer holds.
#pragma once

#include <string>

#include "bdnn/scores.h"
#include "coding/code_scores.h"
#include "model/hash_function.h"

namespace bdnn {

struct CodeScorer::State {
  RankBy by;
  CodeScores scores;
  HashEncoder encoder;      // of queries, for their Hamming distances
  std::string fingerprint;  // of the model
};

}  // namespace bdnn
