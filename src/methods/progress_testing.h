// For tests of what a training tells about itself.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bdnn/methods.h"

namespace bdnn::testing {

// Keeps all that progress is told.
class Rounds final : public Progress {
 public:
  void update(std::string_view stage, std::size_t, std::size_t) override { stages.insert(std::string(stage)); }
  void round(const Round& values) override { rounds.push_back(values); }

  // The figure of that name, of all rounds that have it.
  std::vector<double> figures(std::string_view name) const {
    std::vector<double> found;
    for (const Round& figures_of_round : rounds) {
      for (const auto& [figure, number] : figures_of_round) {
        if (figure == name) found.push_back(number);
      }
    }
    return found;
  }

  std::set<std::string> stages;
  std::vector<Round> rounds;
};

// The names of all stages of a training.
inline std::set<std::string> stages_of(const Vectors& x, const TrainOptions& options) {
  Rounds progress;
  train(x, options, progress);
  return progress.stages;
}

}  // namespace bdnn::testing
