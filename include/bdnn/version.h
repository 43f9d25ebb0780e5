// The version of the library, its commit, and the kernels it uses.
#pragma once

#include <string>

namespace bdnn {

// "0.1.0", as set in CMakeLists.txt.
const char* version();

// The git commit that the library was built from: "1c2894e01f3a", with "-dirty" if files differed from it, or "unknown"
// if the sources were not a git clone. It identifies a build; files and results are identified by version().
const char* commit();

// The kernels in use on this machine, for `bdnn --version` and bug reports: the matrix products, the SIMD target, and
// the LAPACK behind decompositions.
struct Backend {
  std::string products;  // "bdnn's own, by Highway"
  std::string simd;    // SCALAR, SSSE3, AVX2, AVX3 or AVX3_DL; the environment variable BDNN_TARGET forces a lesser one
  std::string lapack;  // "OpenBLAS 0.3.21, kernel SkylakeX"
};
Backend backend();

}  // namespace bdnn
