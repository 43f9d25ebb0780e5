// Short ways to raise bdnn::Error with a formatted message.
#pragma once

#include <fmt/format.h>

#include <string>

#include "bdnn/error.h"

namespace bdnn {

template <class... Args>
[[noreturn]] void misuse(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(Error::Kind::misuse, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void failure(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(Error::Kind::failure, fmt::format(format, std::forward<Args>(args)...));
}

// Returns work(); puts the name in front of the message of an Error that it raises: "base.fvecs: ...".
template <class Work>
auto with_name(const std::string& name, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error(error.kind(), name + ": " + error.what());
  }
}

}  // namespace bdnn
