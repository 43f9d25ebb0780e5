// GIST of one image: energies of a bank of Gabor filters, averaged over a grid.
#pragma once

#include <cstddef>
#include <vector>

#include "bdnn/features.h"
#include "features/cropped_inverse.h"
#include "linalg/product.h"

namespace bdnn {

// exp(-3.5 (|f| / 0.3 * 1.85^scale - 1)^2 - 2 pi (orientations / 8)^2 angle^2): a filter at the frequency (fx, fy) in
// cycles per pixel, where `angle` is that of f plus pi * orientation / orientations, within [-pi, pi].
double gabor(double fx, double fy, std::size_t scale, std::size_t orientation, std::size_t orientations);

// Ready to run on images of side x side pixels; shared by all threads.
//
// Fourier transforms are matrix products here. The filtered image is needed without its border, a third of each
// dimension if 32 pixels get a border of 32, and a product computes exactly that part (features/cropped_inverse.h). For
// small images this is faster than FFTW, for large ones slower (bench/gist_bench.cc); FFTW's licence, the GPL, would
// bind whoever links bdnn.
class Gist {
 public:
  Gist(const GistOptions& options, std::size_t side);

  std::size_t side() const { return side_; }
  std::size_t dimension() const { return filters_.size() * blocks_ * blocks_; }

  struct Scratch {
    std::vector<float> plane;
    std::vector<float> columns;
    std::vector<float> turned;
    std::vector<float> low;
    std::vector<float> spectrum;
    std::vector<float> padded;
    std::vector<float> parts;
  };

  // `grey` has side x side pixels of any range. Features are ordered by scale, then orientation, then column of the
  // grid, then row, as in LMgist. An image of one colour gives zeros.
  void describe(const float* grey, Scratch& scratch, float* features) const;

  // Local contrast, the first step: side x side pixels, in place.
  void prefilter(std::vector<float>& plane, Scratch& scratch) const;

 private:
  struct Filter {
    std::vector<std::size_t> columns;  // of the spectrum, in which it is not negligible
    std::vector<float> gains;          // padded_ per column
  };
  void blur(const std::vector<float>& plane, Scratch& scratch) const;
  void transform(const std::vector<float>& plane, Scratch& scratch) const;
  void add_energies(const Filter& filter, Scratch& scratch, float* features) const;

  std::size_t side_;
  std::size_t border_;
  std::size_t blocks_;
  std::size_t padded_;            // side + 2 * border
  std::size_t blurred_;           // side of the plane that is blurred
  PackedMatrix<float> blur_;      // a Gaussian, as a circulant matrix
  PackedMatrix<float> forward_;   // Fourier transform of a real row
  PackedMatrix<float> forward2_;  // of a complex column: real parts, then imaginary parts
  CroppedInverse backward_;       // without the border
  std::vector<Filter> filters_;
};

}  // namespace bdnn
