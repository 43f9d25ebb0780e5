// The best of all binary codes, by trying every one: for few bits.
#pragma once

#include <cstddef>
#include <vector>

#include "linalg/matrix.h"

namespace bdnn {

// Minimises, for each of `count` samples on its own, b^T G b - 2 q^T b over all b in {-1, +1}^L: the problem of
// CodeDescent, without its local minima. A sample takes about 2^(L+1) operations, since b^T G b is tabulated once
// for all samples, and q^T b is the sum of two numbers, one for each half of the bits.
// Among equally good codes, the one in b wins if it is one of them, else the first.
class CodeEnumeration {
 public:
  static constexpr std::size_t kMostBits = 16;

  explicit CodeEnumeration(const MatrixXd& gram);

  // q and b are L x count; b holds codes of {-1, +1} and receives the result.
  void run(const float* q, std::size_t count, float* b) const;

 private:
  std::size_t bits_;
  std::size_t low_;               // bits of the lower half
  std::vector<float> quadratic_;  // 1/2 b^T G b of code v; bit k of v set: b_k = +1
};

}  // namespace bdnn
