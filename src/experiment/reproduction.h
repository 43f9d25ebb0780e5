// Runs experiments cell by cell, several cells at once, and keeps finished cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "experiment/experiment_plan.h"
#include "experiment/results_file.h"

namespace bdnn {

struct ReproductionOptions {
  std::string data = "data";  // folder with a subfolder for each dataset
  std::string cache = {};     // folder for true neighbours (cached_neighbours); "": none
  int threads = 0;            // of all cells together; 0: one per core
  int cells_at_once = 0;      // 0: one per thread, fewer if memory is short. Results depend on neither
};

// The progress of a reproduction.
struct ReproductionStatus {
  std::string experiment;  // its title
  std::size_t done = 0;    // cells, of all experiments
  std::size_t total = 0;
  std::vector<std::string> running;  // "UH-BDNN, 32 bits, seed 1"
  double seconds_left = -1;          // estimate from the cells finished so far; -1: unknown
  std::string best;                  // of this experiment: "UH-BDNN 47.23 % precision@r2 at 32 bits", or ""
};

// Receives the progress of a reproduction; called from one thread at a time. This one ignores it.
class ReproductionView {
 public:
  virtual ~ReproductionView() = default;
  virtual void note(const std::string& text) { (void)text; }  // "3 of 72 cells are in results.json already"
  virtual void started(const ReproductionStatus& status) { (void)status; }
  virtual void finished(const std::string& cell, const Cell& result, const ReproductionStatus& status) {
    (void)cell, (void)result, (void)status;
  }
  virtual void failed(const std::string& cell, const std::string& why) { (void)cell, (void)why; }
};

// How many cells to run in parallel: one per thread, but no more than there are, and at least one. Fewer if `memory`
// bytes (0: unknown) are not enough for what training may need besides its data: a copy as floats, another of
// activations or gradients, and 1,000 kernel features per sample, as in the methods that need most memory.
int cells_at_once(std::size_t cells, int threads, std::size_t samples, std::size_t dimension, std::uint64_t memory);

// Runs the cells that `results` lacks; each is saved as soon as it is finished. Missing data files, unknown methods
// and metrics raise Error before anything is run; a cell that fails is reported and left out. Returns how many failed.
std::size_t reproduce(const std::vector<ExperimentPlan>& plans, ResultsFile& results,
                      const ReproductionOptions& options, ReproductionView& view);

}  // namespace bdnn
