#include "base/simd_target.h"
#include "bdnn/version.h"
#include "linalg/decompose.h"

namespace bdnn {

Backend backend() { return {"bdnn's own, by Highway", simd_target(), lapack_name()}; }

}  // namespace bdnn
