// The name of a training stage, for progress.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace bdnn {

// "bits"; or, if not all samples are used, "bits, on 5000 of 60000 samples".
inline std::string stage_name(const std::string& name, std::size_t used, std::size_t samples) {
  return used >= samples ? name : fmt::format("{}, on {} of {} samples", name, used, samples);
}

}  // namespace bdnn
