#include "data/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/files.h"

namespace bdnn {
namespace {

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(const std::string& path) : ByteStream(path), file_(path) {}

  std::size_t read_some(std::span<std::byte> out) override {
    const std::size_t n = file_.read_some_at(offset_, out);
    offset_ += n;
    return n;
  }

 private:
  InputFile file_;
  std::uint64_t offset_ = 0;
};

class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(const std::string& path) : ByteStream(path), file_(gzopen(path.c_str(), "rb")) {
    if (file_ == nullptr) failure("{}: cannot open", path);
    gzbuffer(file_, 1 << 18);
  }
  ~GzipStream() override { gzclose(file_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  std::size_t read_some(std::span<std::byte> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      const auto want = static_cast<unsigned>(std::min<std::size_t>(out.size() - done, 1U << 30));
      const int n = gzread(file_, out.data() + done, want);
      int code = Z_OK;
      const char* why = gzerror(file_, &code);
      if (n < 0 || (n == 0 && code != Z_OK)) failure("{}: cannot decompress: {}", path_, why);
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

 private:
  gzFile file_;
};

}  // namespace

void ByteStream::read(std::span<std::byte> out) {
  const std::size_t n = read_some(out);
  if (n < out.size()) failure("{}: is truncated: {} more bytes expected at its end", path_, out.size() - n);
}

void ByteStream::skip(std::size_t bytes) {
  std::array<std::byte, 4096> sink;
  while (bytes > 0) {
    const std::size_t n = std::min(bytes, sink.size());
    read(std::span(sink).first(n));
    bytes -= n;
  }
}

std::unique_ptr<ByteStream> open_plain(const std::string& path) { return std::make_unique<PlainStream>(path); }
std::unique_ptr<ByteStream> open_gzip(const std::string& path) { return std::make_unique<GzipStream>(path); }

}  // namespace bdnn
