#pragma once

#include <string>

namespace bdnn {

// "0.1.0"; the number stands in CMakeLists.txt and nowhere else.
const char* version();

// What does the arithmetic on this machine, for `bdnn --version` and for reports of errors:
// the matrix products, the SIMD target that the kernels were chosen for, and the LAPACK behind decompositions.
struct Backend {
  std::string products;  // "bdnn's own, by Highway"
  std::string simd;      // "AVX3_DL"; the environment variable BDNN_TARGET forces a lesser one
  std::string lapack;    // "OpenBLAS 0.3.21, kernel SkylakeX"
};
Backend backend();

}  // namespace bdnn
