// The command line of benchmarks that measure one SIMD target after the other.
#pragma once

#include <string>
#include <vector>

#include "base/simd_target.h"

namespace bdnn::bench {

struct Arguments {
  std::vector<std::string> targets;  // those named by --target
  std::vector<std::string> rest;

  std::string operator()(std::size_t i, const std::string& otherwise) const {
    return i < rest.size() ? rest[i] : otherwise;
  }
};

// Where no target is named, `otherwise` are: all that the machine has, the best first, or, for what takes long, the
// best.
inline Arguments arguments_of(int argc, char** argv, const std::vector<std::string>& otherwise) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string("--target") && i + 1 < argc) {
      arguments.targets.emplace_back(argv[++i]);
    } else {
      arguments.rest.emplace_back(argv[i]);
    }
  }
  if (arguments.targets.empty()) arguments.targets = otherwise;
  return arguments;
}

}  // namespace bdnn::bench
