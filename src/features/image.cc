#include "features/image.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace bdnn {
namespace {

// The pixels that make one pixel of a resized row, and their weights, which add up to 1.
struct Taps {
  std::vector<std::size_t> from;
  std::vector<double> weights;
};

// Of pixels [start, start + count) of a row of `n` pixels that is scaled by `factor`. Not of the whole row, which may
// be millions of pixels long in a picture one pixel high.
std::vector<Taps> taps_of(std::size_t n, std::size_t start, std::size_t count, double factor) {
  const double stretch = std::min(factor, 1.0);  // the kernel is as wide as the pixels it replaces
  std::vector<Taps> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double centre = (static_cast<double>(start + i) + 0.5) / factor - 0.5;
    const auto first = static_cast<std::ptrdiff_t>(std::floor(centre - 1 / stretch));
    const auto last = static_cast<std::ptrdiff_t>(std::ceil(centre + 1 / stretch));
    double sum = 0;
    for (std::ptrdiff_t k = first; k <= last; ++k) {
      const double weight = std::max(0.0, 1 - stretch * std::abs(static_cast<double>(k) - centre));
      if (weight == 0) continue;
      all[i].from.push_back(mirrored(k, n));
      all[i].weights.push_back(weight);
      sum += weight;
    }
    for (double& weight : all[i].weights) weight /= sum;
  }
  return all;
}

std::size_t rounded(double x) { return static_cast<std::size_t>(std::llround(x)); }

// One number of a PNM header, after blanks and comments.
std::size_t header_number(std::span<const std::byte> file, std::size_t& at, const std::string& name) {
  const auto character = [&](std::size_t i) { return i < file.size() ? std::to_integer<int>(file[i]) : -1; };
  const auto blank = [](int c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (blank(character(at)) || character(at) == '#') {
    if (character(at) == '#') {
      while (character(at) != '\n' && character(at) != -1) ++at;
    } else {
      ++at;
    }
  }
  std::size_t value = 0;
  const std::size_t start = at;
  for (; character(at) >= '0' && character(at) <= '9' && value <= kMostPixels; ++at) {
    value = 10 * value + static_cast<std::size_t>(character(at) - '0');
  }
  if (at == start) failure("{}: lacks a number in its PGM or PPM header", name);
  return value;
}

}  // namespace

std::size_t mirrored(std::ptrdiff_t i, std::size_t n) {
  const auto period = static_cast<std::ptrdiff_t>(2 * n);
  const std::ptrdiff_t within = (i % period + period) % period;
  return static_cast<std::size_t>(within < static_cast<std::ptrdiff_t>(n) ? within : period - 1 - within);
}

std::vector<float> grey_plane(const Image& image) {
  const std::size_t pixels = image.width * image.height;
  if (image.channels == 1) return image.planes;
  std::vector<float> grey(pixels);
  for (std::size_t i = 0; i < pixels; ++i) {
    float sum = 0;
    for (std::size_t c = 0; c < image.channels; ++c) sum += image.planes[c * pixels + i];
    grey[i] = sum / static_cast<float>(image.channels);
  }
  return grey;
}

std::vector<float> resized_square(const std::vector<float>& plane, std::size_t width, std::size_t height,
                                  std::size_t side) {
  const double factor = static_cast<double>(side) / static_cast<double>(std::min(width, height));
  const std::size_t wide = std::max(side, rounded(factor * static_cast<double>(width)));
  const std::size_t high = std::max(side, rounded(factor * static_cast<double>(height)));
  const std::size_t left = (wide - side) / 2;
  const std::size_t top = (high - side) / 2;
  const std::vector<Taps> across = taps_of(width, left, side, factor);
  const std::vector<Taps> down = taps_of(height, top, side, factor);
  // Of the rows that are used: the whole of a picture one pixel wide would become `side` times as large.
  std::size_t first = height;
  std::size_t end = 0;
  for (const Taps& taps : down) {
    const auto [least, most] = std::minmax_element(taps.from.begin(), taps.from.end());
    first = std::min(first, *least);
    end = std::max(end, *most + 1);
  }
  std::vector<float> narrow(side * (end - first));
  for (std::size_t y = first; y < end; ++y) {
    for (std::size_t x = 0; x < side; ++x) {
      const Taps& taps = across[x];
      double sum = 0;
      for (std::size_t k = 0; k < taps.from.size(); ++k) {
        sum += taps.weights[k] * static_cast<double>(plane[y * width + taps.from[k]]);
      }
      narrow[(y - first) * side + x] = static_cast<float>(sum);
    }
  }
  std::vector<float> square(side * side);
  for (std::size_t y = 0; y < side; ++y) {
    const Taps& taps = down[y];
    for (std::size_t x = 0; x < side; ++x) {
      double sum = 0;
      for (std::size_t k = 0; k < taps.from.size(); ++k) {
        sum += taps.weights[k] * static_cast<double>(narrow[(taps.from[k] - first) * side + x]);
      }
      square[y * side + x] = static_cast<float>(sum);
    }
  }
  return square;
}

bool is_pnm(std::span<const std::byte> file) {
  return file.size() > 2 && file[0] == std::byte{'P'} && (file[1] == std::byte{'5'} || file[1] == std::byte{'6'});
}

Image decode_pnm(std::span<const std::byte> file, const std::string& name) {
  if (!is_pnm(file)) failure("{}: is not a binary PGM or PPM image (P5 or P6)", name);
  Image image;
  image.channels = file[1] == std::byte{'5'} ? 1 : 3;
  std::size_t at = 2;
  image.width = header_number(file, at, name);
  image.height = header_number(file, at, name);
  const std::size_t most = header_number(file, at, name);
  if (image.width == 0 || image.height == 0 || image.width > kMostPixels / std::max<std::size_t>(1, image.height)) {
    failure("{}: has {} x {} pixels; 1 to {} are supported", name, image.width, image.height, kMostPixels);
  }
  if (most < 1 || most > 255) failure("{}: has values up to {}; 1 to 255 are supported", name, most);
  ++at;  // one blank before the pixels
  const std::size_t pixels = image.width * image.height;
  if (at > file.size() || file.size() - at < pixels * image.channels) {
    failure("{}: is truncated: {} x {} pixels of {} channel(s) do not fit in its {} bytes", name, image.width,
            image.height, image.channels, file.size());
  }
  image.planes.resize(pixels * image.channels);
  const float scale = 255.0F / static_cast<float>(most);
  for (std::size_t i = 0; i < pixels; ++i) {
    for (std::size_t c = 0; c < image.channels; ++c) {
      const auto value = std::to_integer<std::size_t>(file[at + i * image.channels + c]);
      if (value > most) failure("{}: has the value {} in an image of values up to {}", name, value, most);
      image.planes[c * pixels + i] = static_cast<float>(value) * scale;
    }
  }
  return image;
}

}  // namespace bdnn
