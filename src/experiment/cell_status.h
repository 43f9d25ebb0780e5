// The cells of an experiment in order, and the progress of a reproduction.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "experiment/reproduction.h"

namespace bdnn {

struct PlannedCell {
  CellKey key;
  std::string label;     // of the method
  std::string in_words;  // "UH-BDNN, 32 bits, seed 1"
};

// All cells; the first seed of every method and length comes first, so that tables fill early and times are known.
std::vector<PlannedCell> planned_cells(const ExperimentPlan& plan, const std::string& setting);

// Counts cells, estimates the time left from the times of finished cells, and knows the best result so far.
class CellStatus {
 public:
  explicit CellStatus(const std::vector<ExperimentPlan>& plans);

  void begin(const ExperimentPlan& plan);
  void known(const PlannedCell& cell, const Cell& result);  // finished earlier
  void will_run(const std::vector<PlannedCell>& cells, int at_once);

  ReproductionStatus start(const PlannedCell& cell);
  ReproductionStatus finish(const PlannedCell& cell, const Cell* result);  // null: it failed

 private:
  struct Timed {
    std::string label;
    std::size_t bits;
    double seconds;
  };
  struct Pending {
    PlannedCell cell;
    std::optional<std::chrono::steady_clock::time_point> started;
  };

  std::optional<double> expected_seconds(const PlannedCell& cell) const;
  void note_result(const PlannedCell& cell, const Cell& result);
  ReproductionStatus status() const;

  ReproductionStatus status_;
  std::string metric_;
  double best_ = -1;
  int at_once_ = 1;
  std::vector<Timed> times_;
  std::vector<Pending> pending_;
};

}  // namespace bdnn
