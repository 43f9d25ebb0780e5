// The inverse Fourier transform of many columns, computed only at some positions.
#pragma once

#include <cstddef>
#include <vector>

#include "linalg/product.h"

namespace bdnn {

// x_p = (1/n) sum over k of c_k exp(2 pi i k p / n), for p in [first, first + count).
//
// With k = r j + t, the sum over j is a transform of length n / r for each t, periodic in p; these are one matrix
// product. The r parts are then added, each times exp(2 pi i t p / n). The radix r balances the two; r = 1 is the plain
// product for the wanted positions only, the best for short transforms. Shared by all threads.
class CroppedInverse {
 public:
  CroppedInverse(std::size_t n, std::size_t first, std::size_t count);                     // with the best radix
  CroppedInverse(std::size_t n, std::size_t first, std::size_t count, std::size_t radix);  // which divides n

  std::size_t radix() const { return radix_; }

  // The position of the real part of c_k in a column of 2 n floats; the imaginary part is imaginary() later.
  std::size_t position(std::size_t k) const { return k % radix_ * 2 * length_ + k / radix_; }
  std::size_t imaginary() const { return length_; }

  // For each column the real parts of the wanted positions, then their imaginary parts: 2 * count floats.
  void run(const float* columns, std::size_t number, std::vector<float>& scratch, float* out) const;

 private:
  std::size_t n_;
  std::size_t first_;
  std::size_t count_;
  std::size_t radix_;
  std::size_t length_;           // n / r
  PackedMatrix<float> product_;  // of one part
  std::vector<float> cosines_;   // of the parts at the wanted positions, part by part
  std::vector<float> sines_;
};

}  // namespace bdnn
