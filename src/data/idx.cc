// idx, the format of MNIST: two zero bytes, a type, the number of dimensions, each dimension (uint32, big-endian), then
// the elements (big-endian). Images of 28 x 28 become vectors of 784.
#include <zlib.h>

#include "base/error.h"
#include "base/sizes.h"
#include "data/byte_order.h"
#include "data/format.h"

namespace bdnn {
namespace {

struct Type {
  std::uint8_t code;
  Element element;
};
constexpr Type kTypes[] = {{0x08, Element::u8},  {0x09, Element::i8},  {0x0b, Element::i16},
                           {0x0c, Element::i32}, {0x0d, Element::f32}, {0x0e, Element::f64}};

const Type* type_of(const Source& source) {
  for (const auto& type : kTypes) {
    if (source.head.size() >= 4 && source.head[2] == std::byte{type.code}) return &type;
  }
  return nullptr;
}

std::size_t big_endian_32(const Source& source, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::size_t>(source.head[at + i]);
  return value;
}

class IdxReader final : public VectorReader {
 public:
  explicit IdxReader(const Source& source) : stream_(source.open()) {
    const Type* type = type_of(source);
    const std::size_t dimensions = source.head.size() < 4 ? 0 : std::to_integer<std::size_t>(source.head[3]);
    if (type == nullptr || source.head[0] != std::byte{0} || source.head[1] != std::byte{0} || dimensions == 0) {
      failure("{}: does not start as an idx file does (0, 0, type, dimensions)", source.path);
    }
    const std::size_t header = 4 + 4 * dimensions;
    if (source.size < header) failure("{}: is truncated in its idx header", source.path);
    std::size_t dimension = 1;
    // The sizes are needed to recognise images, which have few.
    for (std::size_t i = 1; i < std::min<std::size_t>(dimensions, 8); ++i) {
      sizes_.push_back(big_endian_32(source, 4 + 4 * i));
    }
    for (std::size_t i = 1; i < dimensions; ++i) {
      if (!multiply_checked(dimension, big_endian_32(source, 4 + 4 * i))) {
        failure("{}: its idx header describes vectors that are too long", source.path);
      }
    }
    shape_ = {dimension, big_endian_32(source, 4), type->element};
    std::uint64_t bytes = shape_.count;
    if (dimension > source.size || !multiply_checked(bytes, shape_.bytes_per_vector()) ||
        bytes > source.size - header) {
      failure("{}: is truncated: {} vectors of {} {} do not fit in its {} bytes", source.path, shape_.count, dimension,
              name_of(type->element), source.size);
    }
    stream_->skip(header);
  }

  void read(std::size_t count, std::byte* out) override {
    stream_->read({out, count * shape_.bytes_per_vector()});
    swap_bytes(size_of(shape_.element), count * shape_.dimension, out);
  }

  std::vector<std::size_t> sizes() const override { return sizes_; }

 private:
  std::vector<std::size_t> sizes_;
  std::unique_ptr<ByteStream> stream_;
};

class IdxWriter final : public VectorWriter {
 public:
  explicit IdxWriter(const Destination& to) : file_(to.path), shape_(to.shape), gzip_(is_gzip_name(to.path)) {
    if (shape_.count > UINT32_MAX || shape_.dimension > UINT32_MAX) {
      misuse("{}: idx holds at most 2^32 - 1 vectors; write .npy or .fvecs", to.path);
    }
    // A column of labels has one dimension, as MNIST's has.
    const std::size_t dimensions = shape_.dimension == 1 ? 1 : 2;
    std::vector<std::byte> header(4 + 4 * dimensions);
    for (const auto& type : kTypes) {
      if (type.element == shape_.element) header[2] = std::byte{type.code};
    }
    header[3] = static_cast<std::byte>(dimensions);
    const std::size_t sizes[] = {shape_.count, shape_.dimension};
    for (std::size_t i = 0; i < dimensions; ++i) {
      for (std::size_t b = 0; b < 4; ++b) header[4 + 4 * i + b] = static_cast<std::byte>(sizes[i] >> (24 - 8 * b));
    }
    if (gzip_ && deflateInit2(&deflate_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
      failure("{}: cannot start to compress", to.path);
    }
    put(header, false);
  }
  ~IdxWriter() override {
    if (gzip_) deflateEnd(&deflate_);
  }
  IdxWriter(const IdxWriter&) = delete;
  IdxWriter& operator=(const IdxWriter&) = delete;

  void write(std::size_t count, const std::byte* vectors) override {
    std::vector<std::byte> block(vectors, vectors + count * shape_.bytes_per_vector());
    swap_bytes(size_of(shape_.element), count * shape_.dimension, block.data());
    put(block, false);
  }

  void finish() override {
    put({}, true);
    file_.commit();
  }

 private:
  void put(std::span<std::byte> bytes, bool last) {
    if (!gzip_) return file_.write(bytes);
    constexpr std::size_t kPiece = 1 << 16;
    std::vector<std::byte> out(kPiece);
    deflate_.next_in = reinterpret_cast<Bytef*>(bytes.data());
    deflate_.avail_in = static_cast<uInt>(bytes.size());
    do {
      deflate_.next_out = reinterpret_cast<Bytef*>(out.data());
      deflate_.avail_out = kPiece;
      deflate(&deflate_, last ? Z_FINISH : Z_NO_FLUSH);
      file_.write(std::span<const std::byte>(out).first(kPiece - deflate_.avail_out));
    } while (deflate_.avail_out == 0);
  }

  OutputFile file_;
  Shape shape_;
  bool gzip_;
  z_stream deflate_{};
};

// Four bytes are a weak signature, so the size must agree too.
bool recognise(const Source& source) {
  const Type* type = type_of(source);
  if (type == nullptr || source.head[0] != std::byte{0} || source.head[1] != std::byte{0}) return false;
  const auto dimensions = std::to_integer<std::size_t>(source.head[3]);
  if (dimensions == 0 || dimensions > 8 || source.head.size() < 4 + 4 * dimensions) return false;
  std::size_t bytes = size_of(type->element);
  for (std::size_t i = 0; i < dimensions; ++i) {
    if (!multiply_checked(bytes, big_endian_32(source, 4 + 4 * i))) return false;
  }
  return bytes == source.size - (4 + 4 * dimensions);
}

std::unique_ptr<VectorReader> open(const Source& source) { return std::make_unique<IdxReader>(source); }
std::unique_ptr<VectorWriter> create(const Destination& to) { return std::make_unique<IdxWriter>(to); }

}  // namespace

const Format kIdx = {"idx",
                     "MNIST's format, also compressed (.gz)",
                     {".idx", "-ubyte", ".idx1", ".idx2", ".idx3"},
                     recognise,
                     open,
                     create,
                     {Element::f32, Element::u8, Element::i8, Element::i16, Element::i32, Element::f64},
                     true};

}  // namespace bdnn
