// Which SIMD instructions the kernels use: the best this machine has, or what BDNN_TARGET asks for.
#pragma once

#include <string>
#include <vector>

namespace bdnn {

// To be called before a kernel is dispatched. Reads the environment variable BDNN_TARGET once ("AVX2"); a name that is
// unknown or that this machine lacks raises Error with the names it has.
void choose_simd_target();

// The name of the target in use: "AVX3_DL", "AVX3", "AVX2", "SSE4", "SSSE3" or "SCALAR".
std::string simd_target();

// The targets that this build has and this machine can run, the best first.
std::vector<std::string> simd_targets();

// For tests: from here on, use that target; "" returns to the choice of choose_simd_target().
void force_simd_target(const std::string& name);

}  // namespace bdnn
