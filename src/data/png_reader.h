// PNG pictures, read a row at a time.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/byte_stream.h"

namespace bdnn {

// Reads 8-bit grey or RGB pictures that are not interlaced, in memory for two rows; other or damaged pictures raise
// Error with the given name.
class PngReader {
 public:
  PngReader(ByteStream& in, std::string name);
  ~PngReader();
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  std::size_t width() const { return width_; }
  std::size_t height() const { return height_; }
  std::size_t channels() const { return channels_; }

  // The next row from the top: width * channels bytes, a pixel's channels side by side. Valid until the next call.
  std::span<const std::byte> next_row();

 private:
  std::uint32_t read_32();
  void read_header();
  void start_chunk();   // its length and type
  void finish_chunk();  // its checksum
  void read_in_chunk(std::span<std::byte> out);
  void inflate_into(std::span<std::byte> out);
  [[noreturn]] void damaged(const std::string& what) const;

  ByteStream& in_;
  std::string name_;
  std::size_t width_ = 0;
  std::size_t height_ = 0;
  std::size_t channels_ = 0;
  std::size_t rows_read_ = 0;

  std::uint32_t chunk_left_ = 0;  // bytes of the chunk that were not read yet
  std::string chunk_type_;
  std::uint32_t chunk_sum_ = 0;

  z_stream zlib_{};
  std::vector<std::byte> deflated_;
  std::vector<std::byte> line_;   // filter and row as they are in the file
  std::vector<std::byte> row_;    // unfiltered, after a pixel of zeros
  std::vector<std::byte> above_;  // likewise
};

}  // namespace bdnn
