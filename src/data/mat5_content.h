// The bytes of one element of a MATLAB 5 file; separate from mat5.cc only to keep that file short.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace bdnn {

// The content of one top-level element from front to back, decompressed on the way if needed.
class Mat5Content {
 public:
  Mat5Content(const InputFile& file, std::uint64_t offset, std::uint64_t length, bool compressed)
      : file_(file), at_(offset), end_(offset + length), compressed_(compressed) {
    if (compressed_ && inflateInit(&inflate_) != Z_OK) failure("{}: cannot start to decompress", file_.path());
  }
  ~Mat5Content() {
    if (compressed_) inflateEnd(&inflate_);
  }
  Mat5Content(const Mat5Content&) = delete;
  Mat5Content& operator=(const Mat5Content&) = delete;

  std::uint64_t position() const { return position_; }

  void read(std::span<std::byte> out) {
    if (read_some(out) < out.size()) failure("{}: ends within a variable; it is truncated or damaged", file_.path());
  }

  void skip(std::uint64_t bytes) {
    std::array<std::byte, 4096> sink;
    for (; bytes > 0; bytes -= std::min<std::uint64_t>(bytes, sink.size())) {
      read(std::span(sink).first(std::min<std::uint64_t>(bytes, sink.size())));
    }
  }

  // Reads on to the end, where zlib's checksum verifies the preceding data.
  void expect_end_within(std::uint64_t bytes) {
    std::array<std::byte, 4096> sink;
    while (const std::size_t n = read_some(sink)) {
      if (n > bytes) failure("{}: a compressed variable is longer than it says", file_.path());
      bytes -= n;
    }
    if (compressed_ && !ended_) failure("{}: ends within a variable; it is truncated or damaged", file_.path());
  }

 private:
  std::size_t read_some(std::span<std::byte> out) {
    const std::size_t n = compressed_ ? inflate_some(out) : copy_some(out);
    position_ += n;
    return n;
  }

  std::size_t copy_some(std::span<std::byte> out) {
    const std::size_t n = file_.read_some_at(at_, out.first(std::min<std::uint64_t>(out.size(), end_ - at_)));
    at_ += n;
    return n;
  }

  std::size_t inflate_some(std::span<std::byte> out) {
    constexpr std::size_t kPiece = 1 << 16;
    inflate_.next_out = reinterpret_cast<Bytef*>(out.data());
    inflate_.avail_out = static_cast<uInt>(out.size());
    while (inflate_.avail_out > 0 && !ended_) {
      if (inflate_.avail_in == 0) {
        input_.resize(std::min<std::uint64_t>(kPiece, end_ - at_));
        if (input_.empty()) break;
        file_.read_at(at_, input_);
        at_ += input_.size();
        inflate_.next_in = reinterpret_cast<Bytef*>(input_.data());
        inflate_.avail_in = static_cast<uInt>(input_.size());
      }
      const int code = inflate(&inflate_, Z_NO_FLUSH);
      ended_ = code == Z_STREAM_END;
      if (code != Z_OK && !ended_) {
        failure("{}: a compressed variable is damaged: {}", file_.path(),
                inflate_.msg != nullptr ? inflate_.msg : "zlib cannot go on");
      }
    }
    return out.size() - inflate_.avail_out;
  }

  const InputFile& file_;
  std::uint64_t at_;
  std::uint64_t end_;
  bool compressed_;
  bool ended_ = false;
  std::uint64_t position_ = 0;
  z_stream inflate_{};
  std::vector<std::byte> input_;
};

}  // namespace bdnn
