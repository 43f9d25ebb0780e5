#pragma once

#include "linalg/matrix.h"

namespace bdnn::testing {

// The bits of a code, the lowest first, as -1 and +1.
inline VectorXd signs_of(unsigned code, std::size_t bits) {
  VectorXd b(bits);
  for (std::size_t k = 0; k < bits; ++k) b[static_cast<Eigen::Index>(k)] = (code >> k & 1U) != 0 ? 1 : -1;
  return b;
}

}  // namespace bdnn::testing
