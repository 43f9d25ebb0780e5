// The exception that bdnn raises.
#pragma once

#include <stdexcept>
#include <string>

namespace bdnn {

// The message says what was wrong, where, and what would be right, in one sentence.
//
// The kind says who can fix it: `misuse` the caller (a wrong option, more bits than the data allows), `failure`
// whoever looks after the machine (a missing file, a full disk, a damaged file). The program's exit status is 2 for
// misuse and 1 for failure.
class Error : public std::runtime_error {
 public:
  enum class Kind { misuse, failure };

  Error(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace bdnn
