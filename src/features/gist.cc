#include "features/gist.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "features/image.h"

namespace bdnn {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr std::size_t kContrastBorder = 5;  // pixels, mirrored, around the image whose contrast is evened out
constexpr double kContrastFrequency = 4;    // cycles per image, at which the Gaussian has fallen to a half
constexpr double kLeastContrast = 0.2;
constexpr double kNegligible = 1e-9;  // of a filter's largest value, 1; far below the precision of floats

// The frequency of entry k of a transform of length n: 0, 1, 2, ..., -2, -1.
double frequency(std::size_t k, std::size_t n) {
  return static_cast<double>(k) - (2 * k < n ? 0.0 : static_cast<double>(n));
}

// cos or sin of 2 pi f p / n, of whole f and p, from an angle within one turn.
double angle_of(double f, std::size_t p, std::size_t n) {
  return 2 * kPi * std::fmod(f * static_cast<double>(p), static_cast<double>(n)) / static_cast<double>(n);
}

// Rows of the matrix that computes sum over k of c_k exp(sign 2 pi i f_k p / n) * factor for positions p, or the other
// way round, for complex numbers as real parts, then imaginary parts.
struct ComplexRows {
  std::size_t rows;
  std::size_t depth;
  std::vector<float> values;

  ComplexRows(std::size_t r, std::size_t d) : rows(r), depth(d), values(4 * r * d) {}
  void set(std::size_t row, std::size_t k, double angle, double factor) {
    const auto real = static_cast<float>(std::cos(angle) * factor);
    const auto imaginary = static_cast<float>(std::sin(angle) * factor);
    values[row * 2 * depth + k] = real;
    values[row * 2 * depth + depth + k] = -imaginary;
    values[(rows + row) * 2 * depth + k] = imaginary;
    values[(rows + row) * 2 * depth + depth + k] = real;
  }
  PackedMatrix<float> packed() const {
    return PackedMatrix<float>::from_rows(values.data(), 2 * rows, 2 * depth, 2 * depth);
  }
};

// `to` gets columns of `columns` entries from the rows of `from`, whose columns are `stride` apart.
void transpose(const float* from, std::size_t rows, std::size_t columns, std::size_t stride, float* to,
               std::size_t to_stride) {
  constexpr std::size_t kTile = 16;
  for (std::size_t c = 0; c < columns; c += kTile) {
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t i = c; i < std::min(columns, c + kTile); ++i) to[r * to_stride + i] = from[i * stride + r];
    }
  }
}

// A plane of `from` x `from` pixels, continued mirrored by `before` on the left and above, to `to` x `to` pixels.
void pad(const std::vector<float>& plane, std::size_t from, std::size_t before, std::size_t to,
         std::vector<float>& out) {
  out.resize(to * to);
  const auto source = [&](std::size_t i) {
    return mirrored(static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(before), from);
  };
  for (std::size_t y = 0; y < to; ++y) {
    const float* row = plane.data() + source(y) * from;
    for (std::size_t x = 0; x < to; ++x) out[y * to + x] = row[source(x)];
  }
}

void check(const GistOptions& options, std::size_t side) {
  constexpr std::size_t kMost = 1024;
  if (options.orientations.empty() || options.orientations.size() > 16) misuse("GIST takes 1 to 16 scales");
  for (const std::size_t n : options.orientations) {
    if (n < 1 || n > 64) misuse("{} orientations are not possible; GIST takes 1 to 64 per scale", n);
  }
  if (options.blocks < 1 || options.blocks > side) {
    misuse("a grid of {} x {} blocks does not fit images of {} x {} pixels", options.blocks, options.blocks, side,
           side);
  }
  if (side > kMost || options.border > kMost) {
    misuse("GIST of {} x {} pixels with a border of {} is not possible; at most {} are", side, side, options.border,
           kMost);
  }
}

}  // namespace

std::size_t gist_dimension(const GistOptions& options) {
  return std::accumulate(options.orientations.begin(), options.orientations.end(), std::size_t{0}) * options.blocks *
         options.blocks;
}

double gabor(double fx, double fy, std::size_t scale, std::size_t orientation, std::size_t orientations) {
  const auto n = static_cast<double>(orientations);
  double angle = std::atan2(fy, fx) + kPi * static_cast<double>(orientation) / n;
  if (angle > kPi) angle -= 2 * kPi;
  const double octaves = std::hypot(fx, fy) / 0.3 * std::pow(1.85, static_cast<double>(scale)) - 1;
  return std::exp(-3.5 * octaves * octaves - 2 * kPi * (n / 8) * (n / 8) * angle * angle);
}

Gist::Gist(const GistOptions& options, std::size_t side)
    : side_(side),
      border_(options.border),
      blocks_(options.blocks),
      padded_(side + 2 * options.border),
      backward_((check(options, side), padded_), options.border, side) {
  // As long as the image with its border, but even.
  blurred_ = side + 2 * kContrastBorder;
  blurred_ += blurred_ % 2;
  const double width = kContrastFrequency / std::sqrt(std::log(2.0));
  std::vector<float> circulant(blurred_ * blurred_);
  for (std::size_t distance = 0; distance < blurred_; ++distance) {
    double sum = 0;
    for (std::size_t k = 0; k < blurred_; ++k) {
      const double f = frequency(k, blurred_);
      sum += std::exp(-f * f / (width * width)) * std::cos(angle_of(f, distance, blurred_));
    }
    for (std::size_t i = 0; i < blurred_; ++i) {
      circulant[i * blurred_ + (i + distance) % blurred_] = static_cast<float>(sum / static_cast<double>(blurred_));
    }
  }
  blur_ = PackedMatrix<float>::from_rows(circulant.data(), blurred_, blurred_, blurred_);

  const std::size_t n = padded_;
  ComplexRows forward(n, n);
  for (std::size_t k = 0; k < n; ++k) {
    const double f = frequency(k, n);
    for (std::size_t p = 0; p < n; ++p) forward.set(k, p, -angle_of(f, p, n), 1);
  }
  forward_ = PackedMatrix<float>::from_rows(forward.values.data(), 2 * n, n, 2 * n);  // real parts only
  forward2_ = forward.packed();

  for (std::size_t scale = 0; scale < options.orientations.size(); ++scale) {
    for (std::size_t orientation = 0; orientation < options.orientations[scale]; ++orientation) {
      Filter filter;
      std::vector<double> column(n);
      for (std::size_t x = 0; x < n; ++x) {
        for (std::size_t y = 0; y < n; ++y) {
          column[y] = gabor(frequency(x, n) / static_cast<double>(n), frequency(y, n) / static_cast<double>(n), scale,
                            orientation, options.orientations[scale]);
        }
        if (*std::max_element(column.begin(), column.end()) < kNegligible) continue;
        filter.columns.push_back(x);
        for (const double gain : column) filter.gains.push_back(static_cast<float>(gain));
      }
      filters_.push_back(std::move(filter));
    }
  }
}

// scratch.low = the Gaussian of a plane of blurred_ x blurred_ pixels: along rows, then along columns.
void Gist::blur(const std::vector<float>& plane, Scratch& scratch) const {
  const std::size_t n = blurred_;
  for (auto* room : {&scratch.columns, &scratch.turned, &scratch.low}) room->resize(n * n);
  multiply(blur_, plane.data(), n, n, scratch.columns.data(), n);
  transpose(scratch.columns.data(), n, n, n, scratch.turned.data(), n);
  multiply(blur_, scratch.turned.data(), n, n, scratch.columns.data(), n);
  transpose(scratch.columns.data(), n, n, n, scratch.low.data(), n);
}

void Gist::prefilter(std::vector<float>& plane, Scratch& scratch) const {
  for (float& value : plane) value = std::log(value + 1.0F);
  std::vector<float>& wide = scratch.padded;
  // Mirrored on all sides, and once more at the end where that makes the length even.
  pad(plane, side_, kContrastBorder, side_ + 2 * kContrastBorder, wide);
  if (blurred_ != side_ + 2 * kContrastBorder) {
    const std::vector<float> odd = wide;
    pad(odd, side_ + 2 * kContrastBorder, 0, blurred_, wide);
  }
  blur(wide, scratch);
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] -= scratch.low[i];
  scratch.spectrum.resize(wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) scratch.spectrum[i] = wide[i] * wide[i];
  blur(scratch.spectrum, scratch);
  for (std::size_t y = 0; y < side_; ++y) {
    for (std::size_t x = 0; x < side_; ++x) {
      const std::size_t at = (y + kContrastBorder) * blurred_ + x + kContrastBorder;
      plane[y * side_ + x] = wide[at] / (static_cast<float>(kLeastContrast) + std::sqrt(std::abs(scratch.low[at])));
    }
  }
}

// scratch.spectrum = the Fourier transform of the plane with its border: for each fx, real parts over fy, then
// imaginary parts.
void Gist::transform(const std::vector<float>& plane, Scratch& scratch) const {
  const std::size_t n = padded_;
  pad(plane, side_, border_, n, scratch.padded);
  for (auto* room : {&scratch.columns, &scratch.turned, &scratch.spectrum}) room->resize(2 * n * n);
  multiply(forward_, scratch.padded.data(), n, n, scratch.columns.data(), 2 * n);  // rows of the image
  transpose(scratch.columns.data(), n, n, 2 * n, scratch.turned.data(), 2 * n);
  transpose(scratch.columns.data() + n, n, n, 2 * n, scratch.turned.data() + n, 2 * n);
  multiply(forward2_, scratch.turned.data(), n, 2 * n, scratch.spectrum.data(), 2 * n);
}

void Gist::add_energies(const Filter& filter, Scratch& scratch, float* features) const {
  const std::size_t n = padded_;
  const std::size_t m = side_;
  const std::size_t kept = filter.columns.size();
  const std::size_t radix = backward_.radix();
  scratch.padded.resize(2 * n * n);
  for (std::size_t c = 0; c < kept; ++c) {
    const float* spectrum = scratch.spectrum.data() + filter.columns[c] * 2 * n;
    const float* gains = filter.gains.data() + c * n;
    float* filtered = scratch.padded.data() + c * 2 * n;
    for (std::size_t t = 0; t < radix; ++t) {
      float* real = filtered + backward_.position(t);
      float* imaginary = real + backward_.imaginary();
      for (std::size_t j = 0; j < n / radix; ++j) {
        real[j] = spectrum[t + j * radix] * gains[t + j * radix];
        imaginary[j] = spectrum[n + t + j * radix] * gains[t + j * radix];
      }
    }
  }
  scratch.columns.resize(2 * m * std::max(n, m));
  backward_.run(scratch.padded.data(), kept, scratch.parts, scratch.columns.data());
  scratch.turned.assign(2 * n * m, 0.0F);  // for each y: a column over fx
  for (std::size_t y = 0; y < m; ++y) {
    float* row = scratch.turned.data() + y * 2 * n;
    for (std::size_t c = 0; c < kept; ++c) {
      const std::size_t at = backward_.position(filter.columns[c]);
      row[at] = scratch.columns[c * 2 * m + y];
      row[at + backward_.imaginary()] = scratch.columns[c * 2 * m + m + y];
    }
  }
  backward_.run(scratch.turned.data(), m, scratch.parts, scratch.columns.data());
  for (std::size_t bx = 0; bx < blocks_; ++bx) {
    const std::size_t left = bx * m / blocks_;
    const std::size_t right = (bx + 1) * m / blocks_;
    for (std::size_t by = 0; by < blocks_; ++by) {
      const std::size_t top = by * m / blocks_;
      const std::size_t bottom = (by + 1) * m / blocks_;
      double sum = 0;
      for (std::size_t y = top; y < bottom; ++y) {
        const float* real = scratch.columns.data() + y * 2 * m;
        const float* imaginary = real + m;
        float row = 0;
        for (std::size_t x = left; x < right; ++x) row += std::sqrt(real[x] * real[x] + imaginary[x] * imaginary[x]);
        sum += static_cast<double>(row);
      }
      *features++ = static_cast<float>(sum / static_cast<double>((bottom - top) * (right - left)));
    }
  }
}

void Gist::describe(const float* grey, Scratch& scratch, float* features) const {
  const std::size_t pixels = side_ * side_;
  const auto [least, most] = std::minmax_element(grey, grey + pixels);
  if (*least == *most) {
    std::fill_n(features, dimension(), 0.0F);
    return;
  }
  scratch.plane.resize(pixels);
  const float from = *least;
  const float range = *most - *least;
  std::transform(grey, grey + pixels, scratch.plane.begin(),
                 [&](float value) { return 255.0F * ((value - from) / range); });
  prefilter(scratch.plane, scratch);
  transform(scratch.plane, scratch);
  for (const Filter& filter : filters_) {
    add_energies(filter, scratch, features);
    features += blocks_ * blocks_;
  }
}

}  // namespace bdnn
