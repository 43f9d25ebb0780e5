// What progress calls a stage of training.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace bdnn {

// "bits"; or where not all samples are learnt from, "bits, on 5000 of 60000 samples".
inline std::string stage_name(const std::string& name, std::size_t used, std::size_t samples) {
  return used >= samples ? name : fmt::format("{}, on {} of {} samples", name, used, samples);
}

}  // namespace bdnn
