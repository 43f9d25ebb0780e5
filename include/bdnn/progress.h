#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bdnn {

// Receives the progress of a long job; derive from it to show a bar. This one ignores it. An exception from a callback
// cancels the job.
class Progress {
 public:
  virtual ~Progress() = default;

  // `done` of `total` steps of `stage` ("ITQ rotations") are complete. Called from one thread at a time.
  virtual void update(std::string_view stage, std::size_t done, std::size_t total) {
    (void)stage, (void)done, (void)total;
  }

  // A training round has ended: its figures by name, in the order of a table's columns. A resumed training first
  // reports its earlier rounds again.
  using Round = std::vector<std::pair<std::string, double>>;
  virtual void round(const Round& values) { (void)values; }

  // Called often and from any thread, several at once: before each block of samples that a job works on. An exception
  // cancels the job without waiting for the next step.
  virtual void poll() {}
};

}  // namespace bdnn
