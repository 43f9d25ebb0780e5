#include "data/png_reader.h"

#include <array>
#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace bdnn {
namespace {

constexpr std::size_t kLargestSide = 1 << 20;
constexpr std::size_t kDeflated = 1 << 16;

Bytef* bytes_for_zlib(std::byte* bytes) { return reinterpret_cast<Bytef*>(bytes); }

// The nearest of left, above and above left to left + above - above left.
int paeth(int left, int above, int corner) {
  const int to_left = std::abs(above - corner);
  const int to_above = std::abs(left - corner);
  const int to_corner = std::abs(left + above - 2 * corner);
  if (to_left <= to_above && to_left <= to_corner) return left;
  return to_above <= to_corner ? above : corner;
}

int predicted(int filter, int left, int above, int corner) {
  switch (filter) {
    case 1: return left;
    case 2: return above;
    case 3: return (left + above) / 2;
    case 4: return paeth(left, above, corner);
    default: return 0;
  }
}

}  // namespace

PngReader::PngReader(ByteStream& in, std::string name) : in_(in), name_(std::move(name)) {
  read_header();
  deflated_.resize(kDeflated);
  const std::size_t bytes = width_ * channels_;
  line_.resize(1 + bytes);
  row_.resize(channels_ + bytes);
  above_.resize(channels_ + bytes);
  if (inflateInit(&zlib_) != Z_OK) failure("{}: cannot decompress: no memory", name_);
}

PngReader::~PngReader() { inflateEnd(&zlib_); }

void PngReader::damaged(const std::string& what) const {
  failure("{}: is damaged or not a PNG picture: {}", name_, what);
}

std::uint32_t PngReader::read_32() {
  std::array<std::byte, 4> bytes;
  in_.read(bytes);
  std::uint32_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

void PngReader::start_chunk() {
  chunk_left_ = read_32();
  std::array<std::byte, 4> type;
  in_.read(type);
  chunk_type_.assign(reinterpret_cast<const char*>(type.data()), type.size());
  chunk_sum_ = static_cast<std::uint32_t>(crc32(0, bytes_for_zlib(type.data()), type.size()));
}

void PngReader::read_in_chunk(std::span<std::byte> out) {
  if (out.size() > chunk_left_) damaged("the chunk " + chunk_type_ + " is too short");
  in_.read(out);
  chunk_left_ -= static_cast<std::uint32_t>(out.size());
  chunk_sum_ = static_cast<std::uint32_t>(crc32(chunk_sum_, bytes_for_zlib(out.data()), static_cast<uInt>(out.size())));
}

void PngReader::finish_chunk() {
  std::array<std::byte, 4096> sink;
  while (chunk_left_ > 0) read_in_chunk(std::span(sink).first(std::min<std::size_t>(chunk_left_, sink.size())));
  if (read_32() != chunk_sum_) damaged("the checksum of a chunk is wrong");
}

void PngReader::read_header() {
  constexpr std::array<unsigned char, 8> kSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  std::array<std::byte, kSignature.size()> signature;
  in_.read(signature);
  for (std::size_t i = 0; i < kSignature.size(); ++i) {
    if (std::to_integer<unsigned char>(signature[i]) != kSignature[i]) damaged("it has no PNG signature");
  }
  start_chunk();
  if (chunk_type_ != "IHDR" || chunk_left_ != 13) damaged("the first chunk is not a header");
  std::array<std::byte, 13> header;
  read_in_chunk(header);
  finish_chunk();
  const auto at = [&](std::size_t i) { return std::to_integer<std::size_t>(header[i]); };
  width_ = at(0) << 24 | at(1) << 16 | at(2) << 8 | at(3);
  height_ = at(4) << 24 | at(5) << 16 | at(6) << 8 | at(7);
  if (width_ == 0 || height_ == 0 || width_ > kLargestSide || height_ > kLargestSide) {
    damaged(fmt::format("{} x {} pixels", width_, height_));
  }
  channels_ = at(9) == 0 ? 1 : 3;
  if (at(8) != 8 || (at(9) != 0 && at(9) != 2) || at(10) != 0 || at(11) != 0 || at(12) != 0) {
    failure("{}: is a PNG picture of another kind than 8-bit grey or RGB without interlacing", name_);
  }
}

void PngReader::inflate_into(std::span<std::byte> out) {
  zlib_.next_out = bytes_for_zlib(out.data());
  zlib_.avail_out = static_cast<uInt>(out.size());
  while (zlib_.avail_out > 0) {
    if (zlib_.avail_in == 0) {
      while (chunk_type_ != "IDAT" || chunk_left_ == 0) {
        if (chunk_type_ == "IDAT") finish_chunk();
        start_chunk();
        if (chunk_type_ == "IEND") damaged("it ends too early");
        if (chunk_type_ != "IDAT") finish_chunk();
      }
      const auto part = std::span(deflated_).first(std::min<std::size_t>(chunk_left_, deflated_.size()));
      read_in_chunk(part);
      zlib_.next_in = bytes_for_zlib(part.data());
      zlib_.avail_in = static_cast<uInt>(part.size());
    }
    const int status = inflate(&zlib_, Z_NO_FLUSH);
    if (status == Z_STREAM_END && zlib_.avail_out > 0) damaged("it has too few pixels");
    if (status != Z_OK && status != Z_STREAM_END) damaged("it cannot be decompressed");
  }
}

std::span<const std::byte> PngReader::next_row() {
  if (rows_read_ == height_) failure("{}: has no more than {} rows", name_, height_);
  std::swap(row_, above_);
  inflate_into(line_);
  const int filter = std::to_integer<int>(line_[0]);
  if (filter > 4) damaged(fmt::format("filter {} of row {}", filter, rows_read_));
  for (std::size_t i = 1; i < line_.size(); ++i) {
    // Place i + channels - 1 of row_ is byte i - 1 of the row, and place i - 1 the same channel of the pixel before.
    const auto at = [](const std::vector<std::byte>& bytes, std::size_t k) { return std::to_integer<int>(bytes[k]); };
    const int guess = predicted(filter, at(row_, i - 1), at(above_, i + channels_ - 1), at(above_, i - 1));
    row_[i + channels_ - 1] = static_cast<std::byte>(std::to_integer<int>(line_[i]) + guess);
  }
  ++rows_read_;
  return std::span(row_).subspan(channels_);
}

}  // namespace bdnn
