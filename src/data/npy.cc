// NumPy's .npy, versions 1 to 3: C and Fortran order, either byte order.
#include <charconv>
#include <cstring>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/sizes.h"
#include "data/byte_order.h"
#include "data/column_major.h"
#include "data/format.h"
#include "data/npy_header.h"

namespace bdnn {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Type {
  std::string_view name;
  Element element;
};
// Without the byte order, which precedes it. Booleans are bytes.
constexpr Type kTypes[] = {{"f2", Element::f16}, {"f4", Element::f32}, {"f8", Element::f64}, {"u1", Element::u8},
                           {"i1", Element::i8},  {"u2", Element::u16}, {"i2", Element::i16}, {"u4", Element::u32},
                           {"i4", Element::i32}, {"u8", Element::u64}, {"i8", Element::i64}, {"b1", Element::u8}};

struct Header {
  Element element = Element::f32;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::size_t> dimensions;
  std::size_t data_offset = 0;
};

// The value of `key` in the header's Python dictionary, as text: 'descr' -> '<f4', 'shape' -> (3, 4).
std::string_view value_of(std::string_view dictionary, std::string_view key, const std::string& file) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = quote + std::string(key) + quote;
    auto at = dictionary.find(quoted);
    if (at == std::string_view::npos) continue;
    at = dictionary.find_first_not_of(" :", at + quoted.size());
    if (at == std::string_view::npos) break;
    const char open = dictionary[at];
    const char close = open == '(' ? ')' : open == '\'' || open == '"' ? open : ',';
    auto end = dictionary.find(close, at + 1);
    if (end == std::string_view::npos && close == ',') end = dictionary.find('}', at + 1);
    if (end == std::string_view::npos) break;
    if (close == ',') return dictionary.substr(at, end - at);
    return dictionary.substr(at + 1, end - at - 1);
  }
  failure("{}: its NumPy header has no readable '{}'", file, key);
}

std::vector<std::size_t> parse_shape(std::string_view text, const std::string& file) {
  std::vector<std::size_t> shape;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at < end) {
    if (*at == ' ' || *at == ',' || *at == 'L') {
      ++at;
      continue;
    }
    std::size_t n = 0;
    const auto [next, error] = std::from_chars(at, end, n);
    if (error != std::errc()) failure("{}: its NumPy header has the invalid shape ({})", file, text);
    shape.push_back(n);
    at = next;
  }
  return shape;
}

Header parse_header(const Source& source) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(source.head.at(i)); };
  if (source.head.size() < 12) failure("{}: is truncated in its NumPy header", source.path);
  const std::size_t version = byte(6);
  if (version < 1 || version > 3)
    failure("{}: has NumPy format version {}; versions 1 to 3 are supported", source.path, version);
  const std::size_t start = version == 1 ? 10 : 12;
  const std::size_t length =
      version == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  // A header of numbers is some 120 bytes; longer than our look-ahead means named fields or nonsense.
  if (start + length > source.size) failure("{}: is truncated in its NumPy header", source.path);
  if (start + length > source.head.size()) {
    failure("{}: its NumPy header is {} bytes long; an array of numbers needs under {}", source.path, length,
            Source::kHeadBytes);
  }

  const std::string_view text(reinterpret_cast<const char*>(source.head.data()) + start, length);
  Header header;
  header.data_offset = start + length;
  const std::string_view type = value_of(text, "descr", source.path);
  header.big_endian = type.starts_with('>');
  std::optional<Element> element;
  for (const auto& known : kTypes) {
    if (type.size() == 3 && type.substr(1) == known.name) element = known.element;
  }
  if (!element) {
    failure("{}: holds elements of NumPy type '{}'; supported are f2 f4 f8, u1 u2 u4 u8, i1 i2 i4 i8 and b1",
            source.path, type);
  }
  header.element = *element;
  header.fortran_order = value_of(text, "fortran_order", source.path).starts_with("True");
  header.dimensions = parse_shape(value_of(text, "shape", source.path), source.path);
  return header;
}

class NpyReader final : public VectorReader {
 public:
  explicit NpyReader(const Source& source) : header_(parse_header(source)) {
    const auto& dims = header_.dimensions;
    if (dims.empty()) failure("{}: holds a single number; expected an array of vectors", source.path);
    // An array of more than two dimensions (images) is flattened to one vector per first index.
    std::uint64_t dimension = 1;
    std::uint64_t bytes = size_of(header_.element);
    bool possible = true;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      possible = possible && multiply_checked(bytes, dims[i]);
      if (i > 0) possible = possible && multiply_checked(dimension, dims[i]);
    }
    if (!possible || bytes > source.size - header_.data_offset) {
      failure("{}: is truncated: an array of shape ({}) of {} does not fit in its {} bytes", source.path,
              joined(dims, ", "), name_of(header_.element), source.size);
    }
    shape_ = {dimension, dims[0], header_.element};
    if (header_.fortran_order && dims.size() > 2) {
      failure(
          "{}: has {} dimensions in Fortran order; only two can be read in that order (np.ascontiguousarray converts "
          "it)",
          source.path, dims.size());
    }
    if (header_.fortran_order && dims.size() == 2) {
      if (source.gzip) failure("{}: is in Fortran order and compressed; decompress it first (gunzip)", source.path);
      file_.emplace(source.path);
    } else {
      stream_ = source.open();
      stream_->skip(header_.data_offset);
    }
  }

  void read(std::size_t count, std::byte* out) override {
    if (file_) {
      const auto from_file = [this](std::uint64_t offset, std::span<std::byte> to) {
        file_->read_at(header_.data_offset + offset, to);
      };
      read_column_major(shape_, next_, count, from_file, out);
    } else {
      stream_->read({out, count * shape_.bytes_per_vector()});
    }
    next_ += count;
    if (header_.big_endian) swap_bytes(size_of(shape_.element), count * shape_.dimension, out);
  }

  std::optional<Placement> placement() const override {
    if (file_ || header_.big_endian) return std::nullopt;
    return Placement{header_.data_offset, shape_.bytes_per_vector()};
  }

 private:
  Header header_;
  std::optional<InputFile> file_;       // Fortran order: read column by column
  std::unique_ptr<ByteStream> stream_;  // C order: read sequentially
  std::size_t next_ = 0;
};

class NpyWriter final : public VectorWriter {
 public:
  explicit NpyWriter(const Destination& to) : file_(to.path), bytes_per_vector_(to.shape.bytes_per_vector()) {
    file_.write(npy_header(to.shape));
  }
  void write(std::size_t count, const std::byte* vectors) override {
    file_.write({vectors, count * bytes_per_vector_});
  }
  void finish() override { file_.commit(); }

 private:
  OutputFile file_;
  std::size_t bytes_per_vector_;
};

bool recognise(const Source& source) { return source.starts_with(kMagic); }
std::unique_ptr<VectorReader> open(const Source& source) {
  if (!recognise(source)) failure("{}: is not a .npy file: it does not start with NumPy's signature", source.path);
  return std::make_unique<NpyReader>(source);
}
std::unique_ptr<VectorWriter> create(const Destination& to) { return std::make_unique<NpyWriter>(to); }

}  // namespace

std::string npy_header(const Shape& shape) {
  std::string_view type;
  for (const auto& known : kTypes) {
    if (known.element == shape.element && known.name != "b1") type = known.name;
  }
  const char order = size_of(shape.element) == 1 ? '|' : '<';
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}, {}), }}", order, type,
                                 shape.count, shape.dimension);
  constexpr std::size_t kAlign = 64;  // so that the data may be mapped and used in place
  constexpr std::size_t kPrefix = 10;
  text.append(kAlign - (kPrefix + text.size() + 1) % kAlign, ' ');
  text += '\n';
  std::string header(kMagic);
  header += '\1';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

const Format kNpy = {"npy",
                     "NumPy array, a vector per row",
                     {".npy"},
                     recognise,
                     open,
                     create,
                     {Element::f32, Element::f16, Element::f64, Element::u8, Element::i8, Element::u16, Element::i16,
                      Element::u32, Element::i32, Element::u64, Element::i64}};

}  // namespace bdnn
