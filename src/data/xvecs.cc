// .fvecs, .ivecs and .bvecs of the TEXMEX collection: each vector is its dimension (int32, little-endian) followed by
// its elements (float, int32, uint8).
#include <cstring>

#include "base/error.h"
#include "data/format.h"

namespace bdnn {
namespace {

constexpr std::int32_t kLargestDimension = 1 << 24;

class XvecsReader final : public VectorReader {
 public:
  XvecsReader(const Source& source, Element element) : name_(source.name()), stream_(source.open()) {
    std::int32_t dimension = 0;
    if (source.size < sizeof dimension) failure("{}: is truncated: {} bytes hold no vector", name_, source.size);
    std::memcpy(&dimension, source.head.data(), sizeof dimension);
    if (dimension < 1 || dimension > kLargestDimension) {
      failure("{}: states that its first vector has dimension {}; expected 1 to {}", name_, dimension,
              kLargestDimension);
    }
    shape_ = {static_cast<std::size_t>(dimension), 0, element};
    const std::uint64_t record = sizeof dimension + shape_.bytes_per_vector();
    if (source.size % record != 0) {
      failure(
          "{}: is truncated or its rows differ in length: {} bytes are not a multiple of {} for vectors of dimension "
          "{}",
          name_, source.size, record, dimension);
    }
    shape_.count = source.size / record;
    record_.resize(record);
  }

  void read(std::size_t count, std::byte* out) override {
    const std::size_t bytes = shape_.bytes_per_vector();
    for (std::size_t i = 0; i < count; ++i, ++row_, out += bytes) {
      take(record_);
      std::int32_t dimension = 0;
      std::memcpy(&dimension, record_.data(), sizeof dimension);
      if (static_cast<std::size_t>(dimension) != shape_.dimension) {
        failure("{}: row {} has dimension {}, the first has {}; all rows must have the same", name_, row_, dimension,
                shape_.dimension);
      }
      std::memcpy(out, record_.data() + sizeof dimension, bytes);
    }
  }

  std::optional<Placement> placement() const override { return Placement{sizeof(std::int32_t), record_.size()}; }

 private:
  // Through a buffer: a system call for each vector would cost more than the vector.
  void take(std::span<std::byte> out) {
    while (!out.empty()) {
      if (position_ == filled_) {
        buffer_.resize(1 << 18);
        filled_ = stream_->read_some(buffer_);
        position_ = 0;
        if (filled_ == 0) failure("{}: is truncated in row {}", name_, row_);
      }
      const std::size_t n = std::min(out.size(), filled_ - position_);
      std::memcpy(out.data(), buffer_.data() + position_, n);
      position_ += n;
      out = out.subspan(n);
    }
  }

  std::string name_;
  std::unique_ptr<ByteStream> stream_;
  std::vector<std::byte> record_;
  std::vector<std::byte> buffer_;
  std::size_t position_ = 0;
  std::size_t filled_ = 0;
  std::size_t row_ = 0;
};

class XvecsWriter final : public VectorWriter {
 public:
  explicit XvecsWriter(const Destination& to) : file_(to.path), shape_(to.shape) { require_vectors(to); }

  void write(std::size_t count, const std::byte* vectors) override {
    const auto dimension = static_cast<std::int32_t>(shape_.dimension);
    const std::size_t bytes = shape_.bytes_per_vector();
    buffer_.resize(count * (sizeof dimension + bytes));
    std::byte* out = buffer_.data();
    for (std::size_t i = 0; i < count; ++i, vectors += bytes) {
      std::memcpy(out, &dimension, sizeof dimension);
      std::memcpy(out + sizeof dimension, vectors, bytes);
      out += sizeof dimension + bytes;
    }
    file_.write(buffer_);
  }

  void finish() override { file_.commit(); }

 private:
  OutputFile file_;
  Shape shape_;
  std::vector<std::byte> buffer_;
};

template <Element element>
std::unique_ptr<VectorReader> open(const Source& source) {
  return std::make_unique<XvecsReader>(source, element);
}

std::unique_ptr<VectorWriter> create(const Destination& to) { return std::make_unique<XvecsWriter>(to); }

}  // namespace

const Format kFvecs = {
    "fvecs",       "vectors of float32, each after its dimension", {".fvecs"}, nullptr, open<Element::f32>, create,
    {Element::f32}};
const Format kIvecs = {
    "ivecs",       "vectors of int32, each after its dimension", {".ivecs"}, nullptr, open<Element::i32>, create,
    {Element::i32}};
const Format kBvecs = {
    "bvecs",      "vectors of uint8, each after its dimension", {".bvecs"}, nullptr, open<Element::u8>, create,
    {Element::u8}};

}  // namespace bdnn
