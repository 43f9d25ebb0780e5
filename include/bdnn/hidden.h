// The private state of a class, defined in its source file.
#pragma once

#include <memory>
#include <utility>

#include "bdnn/error.h"

namespace bdnn {

// Owns a State. A moved-from object has none: using it raises Error.
template <class State>
class Hidden {
 public:
  Hidden() = default;
  explicit Hidden(std::unique_ptr<State> state) : state_(std::move(state)) {}

  State& operator*() const {
    if (!state_) throw Error(Error::Kind::misuse, "the object was moved from; use the one it was moved to");
    return *state_;
  }
  State* operator->() const { return &**this; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace bdnn
