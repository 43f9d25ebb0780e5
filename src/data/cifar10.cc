// CIFAR-10's binary version: for each image a label byte, then 3 x 32 x 32 bytes (red, green, blue planes).
#include <cstring>

#include "base/error.h"
#include "data/format.h"

namespace bdnn {
namespace {

constexpr std::size_t kPixels = 3072;
constexpr std::size_t kRecord = 1 + kPixels;
constexpr int kClasses = 10;

class Cifar10Reader final : public VectorReader {
 public:
  explicit Cifar10Reader(const Source& source) : path_(source.path), stream_(source.open()) {
    if (source.size % kRecord != 0) {
      failure(
          "{}: is truncated or not a CIFAR-10 file: {} bytes are not a multiple of {} (a label and 3 x 32 x 32 pixels)",
          path_, source.size, kRecord);
    }
    shape_ = {kPixels, source.size / kRecord, Element::u8};
  }

  void read(std::size_t count, std::byte* out) override {
    for (std::size_t i = 0; i < count; ++i) read_record(out + i * kPixels);
  }

  std::vector<std::size_t> sizes() const override { return {3, 32, 32}; }

  // Reads one record's pixels and returns its label.
  int read_record(std::byte* pixels) {
    std::byte label{};
    stream_->read({&label, 1});
    if (std::to_integer<int>(label) >= kClasses) {
      failure("{}: image {} has the label {}; CIFAR-10 has 0 to 9, so this is another kind of file", path_, row_,
              std::to_integer<int>(label));
    }
    stream_->read({pixels, kPixels});
    ++row_;
    return std::to_integer<int>(label);
  }

 private:
  std::string path_;
  std::unique_ptr<ByteStream> stream_;
  std::size_t row_ = 0;
};

class Cifar10Writer final : public VectorWriter {
 public:
  explicit Cifar10Writer(const Destination& to) : file_(to.path), labels_(to.labels) {
    require_vectors(to);
    if (to.shape.dimension != kPixels) {
      misuse("{}: CIFAR-10's format holds images of {} bytes, these vectors have dimension {}; write .npy or .fvecs",
             to.path, kPixels, to.shape.dimension);
    }
    if (labels_.size() != to.shape.count) {
      misuse("{}: CIFAR-10's format needs a label per image; give {} labels", to.path, to.shape.count);
    }
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      if (labels_[i] < 0 || labels_[i] >= kClasses) {
        misuse("{}: label {} of vector {} does not fit; CIFAR-10 has 0 to 9", to.path, labels_[i], i);
      }
    }
  }

  void write(std::size_t count, const std::byte* vectors) override {
    std::vector<std::byte> block(count * kRecord);
    for (std::size_t i = 0; i < count; ++i, ++row_) {
      block[i * kRecord] = static_cast<std::byte>(labels_[row_]);
      std::memcpy(&block[i * kRecord + 1], vectors + i * kPixels, kPixels);
    }
    file_.write(block);
  }

  void finish() override { file_.commit(); }

 private:
  OutputFile file_;
  std::vector<std::int64_t> labels_;
  std::size_t row_ = 0;
};

std::unique_ptr<VectorReader> open(const Source& source) { return std::make_unique<Cifar10Reader>(source); }
std::unique_ptr<VectorWriter> create(const Destination& to) { return std::make_unique<Cifar10Writer>(to); }

std::vector<std::int64_t> labels(const Source& source, LabelNames* /*names*/) {
  Cifar10Reader reader(source);
  std::vector<std::int64_t> result(reader.shape().count);
  if (result.empty()) failure("{}: holds no labels", source.path);
  std::vector<std::byte> pixels(kPixels);
  for (auto& label : result) label = reader.read_record(pixels.data());
  return result;
}

}  // namespace

const Format kCifar10 = {
    "cifar10", "CIFAR-10's binary version, images with labels", {".bin"}, nullptr, open, create, {Element::u8}, false,
    labels};

}  // namespace bdnn
