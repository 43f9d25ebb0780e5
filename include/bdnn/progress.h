#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bdnn {

// Told how far a long job has come. This one says nothing; derive from it to show a bar.
class Progress {
 public:
  virtual ~Progress() = default;

  // `done` of `total` steps of `stage` ("ITQ rotations") are behind us. Always called from one thread at a time.
  virtual void update(std::string_view stage, std::size_t done, std::size_t total) {
    (void)stage, (void)done, (void)total;
  }

  // A training that works in rounds has ended one: what it came to, by name, in the order of a table's columns. After a
  // resumption, the rounds before it come again.
  using Round = std::vector<std::pair<std::string, double>>;
  virtual void round(const Round& values) { (void)values; }
};

}  // namespace bdnn
