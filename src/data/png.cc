#include "data/png.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace bdnn {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void append_32(std::string& out, std::size_t value) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift & 0xff);
}

// Length, type, content, and the checksum of the last two.
void append_chunk(std::string& png, std::string_view type, std::string_view content) {
  append_32(png, content.size());
  const std::size_t checked_from = png.size();
  png.append(type).append(content);
  const auto* bytes = reinterpret_cast<const Bytef*>(png.data() + checked_from);
  append_32(png, crc32(0, bytes, static_cast<uInt>(png.size() - checked_from)));
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), 9);
  if (status != Z_OK) failure("cannot compress a picture (zlib says {})", status);
  out.resize(size);
  return out;
}

}  // namespace

std::string encode_png(std::size_t width, std::size_t height, std::size_t channels, std::span<const std::byte> planes) {
  if (planes.size() != width * height * channels || (channels != 1 && channels != 3)) {
    misuse("{} bytes are not a picture of {} x {} with {} channels", planes.size(), width, height, channels);
  }
  std::string rows;
  for (std::size_t y = 0; y < height; ++y) {
    rows += '\0';  // no filter
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t c = 0; c < channels; ++c) {
        rows += static_cast<char>(planes[(c * height + y) * width + x]);
      }
    }
  }
  std::string header;
  append_32(header, width);
  append_32(header, height);
  header += {8, channels == 1 ? '\0' : '\2', 0, 0, 0};  // 8 bits; grey or RGB; deflate, usual filters, not interlaced
  std::string png = "\x89PNG\r\n\x1a\n";
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", deflated(rows));
  append_chunk(png, "IEND", "");
  return png;
}

std::string base64(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

bool is_base64(std::string_view text) {
  return text.find_first_not_of(std::string(kDigits) + "=") == std::string_view::npos;
}

}  // namespace bdnn
