#include "features/cropped_inverse.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bdnn {
namespace {

// The divisor r of n with the least work: n^2 / r in a product, and r per wanted position in loops that the compiler
// makes, which take about eight times as long as a product does for as much.
std::size_t best_radix(std::size_t n, std::size_t count) {
  std::size_t best = 1;
  std::size_t least = n * count;
  for (std::size_t r = 2; r <= n / 2; ++r) {
    if (n % r != 0 || n * n / r + 8 * count * r >= least) continue;
    least = n * n / r + 8 * count * r;
    best = r;
  }
  return best;
}

// 2 pi k p / n, within one turn.
double angle_of(std::size_t k, std::size_t p, std::size_t n) {
  return 2 * std::numbers::pi * static_cast<double>(k * p % n) / static_cast<double>(n);
}

}  // namespace

CroppedInverse::CroppedInverse(std::size_t n, std::size_t first, std::size_t count)
    : CroppedInverse(n, first, count, best_radix(n, count)) {}

CroppedInverse::CroppedInverse(std::size_t n, std::size_t first, std::size_t count, std::size_t radix)
    : n_(n), first_(first), count_(count), radix_(radix), length_(n / radix) {
  const std::size_t from = radix_ == 1 ? first_ : 0;
  const std::size_t rows = radix_ == 1 ? count_ : length_;
  std::vector<float> weights(4 * rows * length_);
  for (std::size_t p = 0; p < rows; ++p) {
    for (std::size_t j = 0; j < length_; ++j) {
      const double angle = angle_of(j, from + p, length_);
      const auto real = static_cast<float>(std::cos(angle) / static_cast<double>(n));
      const auto imaginary = static_cast<float>(std::sin(angle) / static_cast<double>(n));
      weights[p * 2 * length_ + j] = real;
      weights[p * 2 * length_ + length_ + j] = -imaginary;
      weights[(rows + p) * 2 * length_ + j] = imaginary;
      weights[(rows + p) * 2 * length_ + length_ + j] = real;
    }
  }
  product_ = PackedMatrix<float>::from_rows(weights.data(), 2 * rows, 2 * length_, 2 * length_);
  for (std::size_t t = 0; t < radix_; ++t) {
    for (std::size_t p = 0; p < count_; ++p) {
      cosines_.push_back(static_cast<float>(std::cos(angle_of(t, first_ + p, n_))));
      sines_.push_back(static_cast<float>(std::sin(angle_of(t, first_ + p, n_))));
    }
  }
}

void CroppedInverse::run(const float* columns, std::size_t number, std::vector<float>& scratch, float* out) const {
  if (radix_ == 1) return multiply(product_, columns, number, 2 * n_, out, 2 * count_);
  scratch.resize(2 * n_ * number);
  multiply(product_, columns, number * radix_, 2 * length_, scratch.data(), 2 * length_);
  for (std::size_t c = 0; c < number; ++c) {
    float* real = out + c * 2 * count_;
    float* imaginary = real + count_;
    std::fill_n(real, 2 * count_, 0.0F);
    for (std::size_t t = 0; t < radix_; ++t) {
      const float* part = scratch.data() + (c * radix_ + t) * 2 * length_;
      const float* cosine = cosines_.data() + t * count_;
      const float* sine = sines_.data() + t * count_;
      // The part is periodic: positions up to its end, then again from its start.
      for (std::size_t p = 0; p < count_;) {
        const std::size_t at = (first_ + p) % length_;
        const std::size_t run = std::min(length_ - at, count_ - p);
        const float* a = part + at;
        const float* b = part + length_ + at;
        for (std::size_t i = 0; i < run; ++i) {
          real[p + i] += a[i] * cosine[p + i] - b[i] * sine[p + i];
          imaginary[p + i] += a[i] * sine[p + i] + b[i] * cosine[p + i];
        }
        p += run;
      }
    }
  }
}

}  // namespace bdnn
