// Which SIMD instructions the kernels use: the best this machine has, or the one BDNN_TARGET names.
#pragma once

#include <string>
#include <vector>

namespace bdnn {

// To be called before a kernel is dispatched. Reads the environment variable BDNN_TARGET once ("AVX2"); an unknown
// or unsupported name raises Error and lists the available ones.
void choose_simd_target();

// The name of the target in use: "AVX3_DL", "AVX3", "AVX2", "SSE4", "SSSE3" or "SCALAR".
std::string simd_target();

// The targets that this build has and this machine can run, the best first.
std::vector<std::string> simd_targets();

// For tests: from here on, use that target; "" returns to the choice of choose_simd_target().
void force_simd_target(const std::string& name);

}  // namespace bdnn
