// Small pictures as PNG, and bytes as text, for web pages with embedded pictures.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace bdnn {

// An 8-bit PNG of rows of pixels from the top, one plane per channel: 1 is grey, 3 are red, green and blue.
// planes.size() must be width * height * channels.
std::string encode_png(std::size_t width, std::size_t height, std::size_t channels, std::span<const std::byte> planes);

std::string base64(std::string_view bytes);

// Whether a text consists of base64's characters only, so that it can be used in a data URI as it is.
bool is_base64(std::string_view text);

}  // namespace bdnn
