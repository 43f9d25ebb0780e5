// Images in memory, and their preparation for features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bdnn {

// Pixels from 0 to 255: rows from the top, one plane per channel (1: grey; 3: red, green, blue).
struct Image {
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t channels = 1;
  std::vector<float> planes;  // width * height * channels
};

// The mean of the channels: one plane.
std::vector<float> grey_plane(const Image& image);

// The middle of a plane scaled so that its shorter side is `side` long: side x side pixels. Bilinear, as MATLAB's
// imresize does it: shrinking averages over the pixels that are lost, borders are mirrored.
std::vector<float> resized_square(const std::vector<float>& plane, std::size_t width, std::size_t height,
                                  std::size_t side);

// Position i of a row of n pixels that is continued by mirroring on both sides, the edges twice: ... 1 0 | 0 1 2 | 2 1
// 0 0 ...
std::size_t mirrored(std::ptrdiff_t i, std::size_t n);

// An image in the binary PGM or PPM format (P5, P6; up to 255); anything else raises Error.
bool is_pnm(std::span<const std::byte> file);
Image decode_pnm(std::span<const std::byte> file, const std::string& name);

// Largest image that is decoded, in pixels: a limit on what a damaged header may request.
inline constexpr std::size_t kMostPixels = std::size_t{1} << 26;

}  // namespace bdnn
