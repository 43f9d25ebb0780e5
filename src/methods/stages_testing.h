// For tests of what progress says about a training.
#pragma once

#include <set>
#include <string>

#include "bdnn/methods.h"

namespace bdnn::testing {

// The names of all stages of a training.
inline std::set<std::string> stages_of(const Vectors& x, const TrainOptions& options) {
  struct Stages final : Progress {
    std::set<std::string> seen;
    void update(std::string_view stage, std::size_t, std::size_t) override { seen.insert(std::string(stage)); }
  } stages;
  train(x, options, stages);
  return stages.seen;
}

}  // namespace bdnn::testing
