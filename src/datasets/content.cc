#include "datasets/content.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/with_commas.h"
#include "datasets/record_stream.h"

namespace bdnn {
namespace {

constexpr std::size_t kBuffer = 1 << 20;
constexpr std::uint32_t kLargestDatasetDimension = 1 << 20;

bool is_gzip(const std::string& name) { return name.ends_with(".gz"); }
bool is_bvecs(const std::string& name) { return name.ends_with(".bvecs"); }

// Vectors of bytes as records of .fvecs: an int32 with the dimension, then the elements. As the file, little-endian,
// which this program needs anyway.
class BvecsAsFvecs final : public RecordStream {
 public:
  explicit BvecsAsFvecs(const std::string& path) : RecordStream(path), in_(open_plain(path)) {}

 private:
  bool next_record(std::vector<std::byte>& record) override {
    std::uint32_t dimension = 0;
    const auto head = std::as_writable_bytes(std::span(&dimension, 1));
    const std::size_t n = in_->read_some(head);
    if (n == 0) return false;
    if (n < head.size() || dimension > kLargestDatasetDimension)
      failure("{}: is truncated or not a .bvecs file", path_);
    bytes_.resize(dimension);
    in_->read(std::as_writable_bytes(std::span(bytes_)));
    record.resize(sizeof dimension + sizeof(float) * dimension);
    std::memcpy(record.data(), &dimension, sizeof dimension);
    for (std::size_t i = 0; i < dimension; ++i) {
      const auto value = static_cast<float>(bytes_[i]);
      std::memcpy(record.data() + sizeof dimension + sizeof value * i, &value, sizeof value);
    }
    return true;
  }

  std::unique_ptr<ByteStream> in_;
  std::vector<unsigned char> bytes_;
};

// Returns work(); turns its Errors into CannotWrite.
template <class Work>
auto writing(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& error) {
    throw CannotWrite(error.kind(), error.what());
  }
}

void put(OutputFile& out, std::span<const std::byte> bytes) {
  writing([&] { out.write(bytes); });
}

// Compresses or converts content on its way to a file.
class Packer {
 public:
  virtual ~Packer() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
  virtual void finish() {}
};

class PlainPacker final : public Packer {
 public:
  explicit PlainPacker(OutputFile& out) : out_(out) {}
  void write(std::span<const std::byte> bytes) override { put(out_, bytes); }

 private:
  OutputFile& out_;
};

class GzipPacker final : public Packer {
 public:
  explicit GzipPacker(OutputFile& out) : out_(out), packed_(kBuffer) {
    constexpr int kGzip = 16 + MAX_WBITS;  // with the head and tail of a .gz file
    if (deflateInit2(&zlib_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
      failure("{}: cannot compress: no memory", out.path());
    }
  }
  ~GzipPacker() override { deflateEnd(&zlib_); }
  GzipPacker(const GzipPacker&) = delete;
  GzipPacker& operator=(const GzipPacker&) = delete;

  void write(std::span<const std::byte> bytes) override {
    zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    zlib_.avail_in = static_cast<uInt>(bytes.size());
    run(Z_NO_FLUSH);
  }
  void finish() override { run(Z_FINISH); }

 private:
  void run(int flush) {
    do {
      zlib_.next_out = reinterpret_cast<Bytef*>(packed_.data());
      zlib_.avail_out = static_cast<uInt>(packed_.size());
      deflate(&zlib_, flush);
      put(out_, std::span<const std::byte>(packed_).first(packed_.size() - zlib_.avail_out));
    } while (zlib_.avail_out == 0);
  }

  OutputFile& out_;
  std::vector<std::byte> packed_;
  z_stream zlib_{};
};

class BvecsPacker final : public Packer {
 public:
  explicit BvecsPacker(OutputFile& out) : out_(out) {}

  void write(std::span<const std::byte> bytes) override {
    packed_.clear();
    for (; !bytes.empty(); bytes = bytes.subspan(1)) {
      word_[filled_++] = bytes.front();
      if (filled_ < word_.size()) continue;
      filled_ = 0;
      take_word();
    }
    put(out_, packed_);
  }

  void finish() override {
    if (filled_ > 0 || left_ > 0) failure("{}: the vectors end within one", out_.path());
  }

 private:
  void take_word() {
    if (left_ == 0) {
      std::memcpy(&left_, word_.data(), sizeof left_);
      if (left_ == 0 || left_ > kLargestDatasetDimension)
        failure("{}: these are not vectors in .fvecs form", out_.path());
      packed_.insert(packed_.end(), word_.begin(), word_.end());
      return;
    }
    float value = 0;
    std::memcpy(&value, word_.data(), sizeof value);
    if (!(value >= 0 && value <= 255) || value != static_cast<float>(static_cast<int>(value))) {
      failure("{}: a vector has the element {}; .bvecs holds whole numbers from 0 to 255", out_.path(), value);
    }
    packed_.push_back(static_cast<std::byte>(static_cast<int>(value)));
    --left_;
  }

  OutputFile& out_;
  std::vector<std::byte> packed_;
  std::array<std::byte, 4> word_{};
  std::size_t filled_ = 0;
  std::uint32_t left_ = 0;  // elements of the vector
};

std::unique_ptr<Packer> make_packer(const std::string& name, OutputFile& out) {
  if (is_gzip(name)) return std::make_unique<GzipPacker>(out);
  if (is_bvecs(name)) return std::make_unique<BvecsPacker>(out);
  return std::make_unique<PlainPacker>(out);
}

// The size and checksum of content, read no further than its expected size.
struct Measured {
  std::uint64_t bytes = 0;
  Sha256 sum;

  // Why it is not the content of the file; "" if it is.
  std::string difference(const DatasetFile& file) const {
    if (bytes > file.bytes) return fmt::format("it is longer than {} bytes", with_commas(file.bytes));
    if (bytes < file.bytes) return fmt::format("it has {} bytes, not {}", with_commas(bytes), with_commas(file.bytes));
    const std::string sha256 = sum.hexadecimal();
    if (!file.sha256.empty() && sha256 != file.sha256)
      return fmt::format("its sha256 is {}, not {}", sha256, file.sha256);
    return "";
  }
};

template <class Take>
Measured read_all(ByteStream& content, const DatasetFile& file, const char* stage, Progress& progress,
                  const Take& take) {
  Measured measured;
  std::vector<std::byte> buffer(kBuffer);
  const std::string name = stage + file.name;
  while (measured.bytes <= file.bytes) {
    progress.update(name, measured.bytes, file.bytes);
    const std::size_t n = content.read_some(buffer);
    if (n == 0) break;
    const auto bytes = std::span<const std::byte>(buffer).first(n);
    measured.bytes += n;
    measured.sum.add(bytes);
    take(bytes);
  }
  return measured;
}

std::uint64_t size_if_readable(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? std::numeric_limits<std::uint64_t>::max() : bytes;
}

}  // namespace

std::string content_name(const std::string& file_name) {
  if (is_gzip(file_name)) return file_name.substr(0, file_name.size() - 3);
  if (is_bvecs(file_name)) return file_name.substr(0, file_name.size() - 5) + "fvecs";
  return file_name;
}

std::unique_ptr<ByteStream> open_content(const std::string& path, const std::string& as) {
  if (is_gzip(as)) return open_gzip(path);
  if (is_bvecs(as)) return std::make_unique<BvecsAsFvecs>(path);
  return open_plain(path);
}

FileCheck check_content(const std::string& path, const std::string& as, const DatasetFile& file, Progress& progress) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  try {
    const auto content = open_content(path, as);
    const Measured measured =
        read_all(*content, file, "verifying ", progress, [](std::span<const std::byte> /*bytes*/) {});
    const std::string why = measured.difference(file);
    return {why.empty() ? FileState::good : FileState::different, why};
  } catch (const Error& error) {
    return {FileState::different, error.what()};
  }
}

FileCheck check_size(const std::string& path, const DatasetFile& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  try {
    const InputFile in(path);
    std::uint32_t word = 0;
    const auto bytes = std::as_writable_bytes(std::span(&word, 1));
    bool good = in.size() == file.bytes;
    if (is_gzip(file.name)) {
      if (in.size() > bytes.size()) in.read_at(in.size() - bytes.size(), bytes);  // .gz ends with its content's size
      good = in.size() > bytes.size() && word == static_cast<std::uint32_t>(file.bytes);
    } else if (is_bvecs(file.name)) {
      good = in.read_some_at(0, bytes) == bytes.size() && word > 0 && word <= kLargestDatasetDimension &&
             in.size() % (sizeof word + word) == 0 &&
             in.size() / (sizeof word + word) * (sizeof word + sizeof(float) * word) == file.bytes;
    }
    return {good ? FileState::good : FileState::different, good ? "" : "its size differs"};
  } catch (const Error& error) {
    return {FileState::different, error.what()};
  }
}

void write_content(ByteStream& content, const DatasetFile& file, const std::string& path, Progress& progress) {
  const auto out = writing([&] { return std::make_unique<OutputFile>(path); });
  const auto packer = make_packer(file.name, *out);
  const Measured measured =
      read_all(content, file, "unpacking ", progress, [&](std::span<const std::byte> bytes) { packer->write(bytes); });
  const std::string why = measured.difference(file);
  if (!why.empty()) failure("{}: {}", content_name(file.name), why);
  packer->finish();
  writing([&] { out->commit(); });
}

void copy_file(const std::string& from, const std::string& to) {
  const InputFile in(from);
  const auto out = writing([&] { return std::make_unique<OutputFile>(to); });
  std::vector<std::byte> buffer(kBuffer);
  for (std::uint64_t at = 0;;) {
    const std::size_t n = in.read_some_at(at, buffer);
    if (n == 0) break;
    put(*out, std::span<const std::byte>(buffer).first(n));
    at += n;
  }
  writing([&] { out->commit(); });
}

std::string sha256_of_file(const std::string& path, Progress& progress) {
  const auto in = open_plain(path);
  const DatasetFile file{file_name(path), size_if_readable(path), ""};
  return read_all(*in, file, "verifying ", progress, [](std::span<const std::byte> /*bytes*/) {}).sum.hexadecimal();
}

}  // namespace bdnn
