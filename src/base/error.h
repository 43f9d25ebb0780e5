// Short ways to raise bdnn::Error with a formatted message.
#pragma once

#include <fmt/format.h>

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

}  // namespace bdnn
