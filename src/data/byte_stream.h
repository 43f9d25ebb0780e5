// A file as a stream of bytes from front to back, decompressed on the way if it is gzip.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace bdnn {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Reads up to out.size() bytes; returns the number read, less only at the end.
  virtual std::size_t read_some(std::span<std::byte> out) = 0;

  // Fills `out`; if the stream ends before, raises Error with the file's name.
  void read(std::span<std::byte> out);
  void skip(std::size_t bytes);

 protected:
  explicit ByteStream(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::unique_ptr<ByteStream> open_plain(const std::string& path);
std::unique_ptr<ByteStream> open_gzip(const std::string& path);

}  // namespace bdnn
