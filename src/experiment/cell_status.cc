#include "experiment/cell_status.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "base/error.h"

namespace bdnn {

std::vector<PlannedCell> planned_cells(const ExperimentPlan& plan, const std::string& setting) {
  std::vector<PlannedCell> cells;
  std::set<std::tuple<std::string, std::size_t, std::uint64_t>> seen;  // a length or seed may be named twice
  for (const std::uint64_t seed : plan.seeds) {
    for (const std::size_t bits : plan.bits) {
      for (const auto& method : plan.methods) {
        if (!seen.insert({method.label, bits, seed}).second) continue;
        cells.push_back({{setting, method.method, method.profile, method.set, bits, seed},
                         method.label,
                         fmt::format("{}, {} bits, seed {}", method.label, bits, seed)});
      }
    }
  }
  return cells;
}

CellStatus::CellStatus(const std::vector<ExperimentPlan>& plans) {
  for (const auto& plan : plans) status_.total += plan.cells();
}

void CellStatus::begin(const ExperimentPlan& plan) {
  status_.experiment = plan.title;
  status_.best.clear();
  metric_ = plan.metrics.front();
  best_ = -1;
  times_.clear();
  pending_.clear();
}

void CellStatus::known(const PlannedCell& cell, const Cell& result) {
  ++status_.done;
  note_result(cell, result);
}

void CellStatus::will_run(const std::vector<PlannedCell>& cells, int at_once) {
  at_once_ = at_once;
  for (const auto& cell : cells) pending_.push_back({cell, std::nullopt});
}

void CellStatus::note_result(const PlannedCell& cell, const Cell& result) {
  times_.push_back({cell.label, cell.key.bits, result.train_seconds + result.measure_seconds});
  for (const auto& [name, value] : result.values) {
    if (name != metric_ || value <= best_) continue;
    best_ = value;
    status_.best = fmt::format("{} {:.2f} % {} at {} bits", cell.label, 100 * value, metric_, cell.key.bits);
  }
}

// The mean of the method's cells of the nearest length; of all cells if the method has none yet.
std::optional<double> CellStatus::expected_seconds(const PlannedCell& cell) const {
  double nearest = std::numeric_limits<double>::max();
  double sum = 0;
  double count = 0;
  double sum_of_all = 0;
  for (const Timed& timed : times_) {
    sum_of_all += timed.seconds;
    if (timed.label != cell.label) continue;
    const double distance = std::abs(static_cast<double>(timed.bits) - static_cast<double>(cell.key.bits));
    if (distance > nearest) continue;
    if (distance < nearest) sum = count = 0;
    nearest = distance;
    sum += timed.seconds;
    ++count;
  }
  if (count > 0) return sum / count;
  if (times_.empty()) return std::nullopt;
  return sum_of_all / static_cast<double>(times_.size());
}

ReproductionStatus CellStatus::status() const {
  ReproductionStatus now = status_;
  double left = 0;
  bool known = true;
  for (const Pending& pending : pending_) {
    double elapsed = 0;
    if (pending.started) {
      now.running.push_back(pending.cell.in_words);
      elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - *pending.started).count();
    }
    const auto expected = expected_seconds(pending.cell);
    known = known && expected.has_value();
    left += std::max(0.0, expected.value_or(0) - elapsed);
  }
  now.seconds_left = known ? left / at_once_ : -1;
  return now;
}

ReproductionStatus CellStatus::start(const PlannedCell& cell) {
  for (Pending& pending : pending_) {
    if (pending.cell.key == cell.key) pending.started = std::chrono::steady_clock::now();
  }
  return status();
}

ReproductionStatus CellStatus::finish(const PlannedCell& cell, const Cell* result) {
  std::erase_if(pending_, [&](const Pending& pending) { return pending.cell.key == cell.key; });
  if (result != nullptr) {
    ++status_.done;
    note_result(cell, *result);
  }
  return status();
}

}  // namespace bdnn
