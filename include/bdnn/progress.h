#pragma once

#include <cstddef>
#include <string_view>

namespace bdnn {

// Told how far a long job has come. This one says nothing; derive from it to show a bar.
class Progress {
 public:
  virtual ~Progress() = default;

  // `done` of `total` steps of `stage` ("ITQ rotations") are behind us. Always called from one thread at a time.
  virtual void update(std::string_view stage, std::size_t done, std::size_t total) {
    (void)stage, (void)done, (void)total;
  }
};

}  // namespace bdnn
