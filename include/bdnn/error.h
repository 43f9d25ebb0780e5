// The one way in which bdnn fails.
#pragma once

#include <stdexcept>
#include <string>

namespace bdnn {

// What was wrong, where, and what would be right, in one sentence for the person who sees it.
//
// Kind tells whose turn it is: `misuse` is mended by calling differently (a wrong option, a code length that
// the data cannot give), `failure` by mending the world (a missing file, a full disk, a broken file).
// The program's exit status is 2 for misuse and 1 for failure.
class Error : public std::runtime_error {
 public:
  enum class Kind { misuse, failure };

  Error(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace bdnn
