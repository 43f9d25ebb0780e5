// MATLAB's MAT-files of version 5 (save -v6 and -v7). Our own reader, so that a matrix of any size streams in bounded
// memory, elements keep their type, and every length is checked against the file; the tests compare it with matio.
//
// After a header of 128 bytes come elements: a tag (type, length in bytes) and content. A variable is a matrix element
// made of elements itself (flags, sizes, name, data column after column), or a zlib stream of such an element.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/sizes.h"
#include "data/byte_order.h"
#include "data/column_major.h"
#include "data/format.h"
#include "data/mat5_content.h"
#include "data/named_parts.h"

namespace bdnn {
namespace {

constexpr std::string_view kText = "MATLAB 5.0 MAT-file";
constexpr std::size_t kHeaderBytes = 128;
constexpr std::size_t kOrderAt = 126;
constexpr std::size_t kTagBytes = 8;
constexpr std::uint32_t kInt8 = 1, kInt32 = 5, kUint32 = 6, kMatrix = 14, kCompressed = 15;  // types of elements
constexpr std::uint32_t kComplex = 0x800;                                                    // in a matrix's flags
constexpr std::uint32_t kOpaque = 17;

struct Stored {
  std::uint32_t type;          // of the data
  std::uint32_t matlab_class;  // of a matrix of such data
  Element element;
};
constexpr Stored kStored[] = {{7, 7, Element::f32},  {9, 6, Element::f64},  {2, 9, Element::u8},
                              {1, 8, Element::i8},   {4, 11, Element::u16}, {3, 10, Element::i16},
                              {6, 13, Element::u32}, {5, 12, Element::i32}, {13, 15, Element::u64},
                              {12, 14, Element::i64}};

constexpr std::string_view kClassNames[] = {"unknown", "cell",   "struct", "object", "char",     "sparse",
                                            "double",  "single", "int8",   "uint8",  "int16",    "uint16",
                                            "int32",   "uint32", "int64",  "uint64", "function", "object"};

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

// One variable: its kind, and the place of its data.
struct Variable {
  NamedPart part;
  Element element = Element::f64;
  bool compressed = false;
  std::uint64_t content = 0;         // in the file, after the tag
  std::uint64_t content_length = 0;  // there
  std::uint64_t data = 0;            // in the content, decompressed
  std::uint64_t data_length = 0;
  std::uint64_t rest = 0;  // bytes that may follow the data in the content
};

struct Tag {
  std::uint32_t type = 0;
  std::uint32_t length = 0;
  bool small = false;                // at most 4 bytes, stored in the tag itself
  std::array<std::byte, 4> bytes{};  // then
};

std::uint32_t word(const std::byte* bytes, bool swap) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return swap ? __builtin_bswap32(value) : value;
}

Tag parse_tag(const std::array<std::byte, kTagBytes>& bytes, bool swap) {
  Tag tag;
  const std::uint32_t first = word(bytes.data(), swap);
  tag.small = first >> 16 != 0;
  tag.type = tag.small ? first & 0xffff : first;
  tag.length = tag.small ? first >> 16 : word(bytes.data() + 4, swap);
  std::memcpy(tag.bytes.data(), bytes.data() + 4, tag.bytes.size());
  return tag;
}

// Parses a matrix element, never beyond its stated length.
class MatrixParser {
 public:
  MatrixParser(Mat5Content& content, std::uint64_t length, bool swap, const std::string& path)
      : content_(content), left_(length), swap_(swap), path_(path) {}

  Variable parse() {
    Variable variable;
    const auto flags = take(kUint32, 8, "flags");
    if (flags.size() != 8) failure("{}: a variable has no flags; the file is damaged", path_);
    const std::uint32_t flag_word = word(flags.data(), swap_);
    const std::uint32_t matlab_class = flag_word & 0xff;
    const bool complex = (flag_word & kComplex) != 0;
    const bool known = matlab_class < std::size(kClassNames);
    variable.part.kind = fmt::format("{}{}", complex ? "complex " : "", kClassNames[known ? matlab_class : 0]);
    if (!known || matlab_class == 0 || matlab_class == kOpaque) return variable;  // has another layout

    constexpr std::size_t kMostSizes = 64, kLongestName = 4096;
    const auto sizes = take(kInt32, kMostSizes * 4, "sizes");
    for (std::size_t i = 0; i + 4 <= sizes.size(); i += 4) {
      const auto size = static_cast<std::int32_t>(word(sizes.data() + i, swap_));
      if (size < 0) failure("{}: a variable has the size {}; the file is damaged", path_, size);
      variable.part.sizes.push_back(static_cast<std::uint64_t>(size));
    }
    const auto name = take(kInt8, kLongestName, "name");
    variable.part.name.assign(reinterpret_cast<const char*>(name.data()), name.size());

    constexpr std::uint32_t kDouble = 6, kUint64 = 15;
    if (matlab_class < kDouble || matlab_class > kUint64 || complex) return variable;
    // MATLAB's internal variables have no name.
    variable.part.numeric = !variable.part.name.empty() && variable.part.sizes.size() >= 2;
    parse_data(variable);
    return variable;
  }

 private:
  Tag next_tag() {
    std::array<std::byte, kTagBytes> bytes;
    claim(bytes.size());
    content_.read(bytes);
    const Tag tag = parse_tag(bytes, swap_);
    if (tag.small && tag.length > tag.bytes.size()) {
      failure("{}: a small element says that it is {} bytes long; the file is damaged", path_, tag.length);
    }
    return tag;
  }

  // A small element whole; numbers in it stay in the file's byte order.
  std::vector<std::byte> take(std::uint32_t type, std::size_t most, std::string_view what) {
    const Tag tag = next_tag();
    if (tag.type != type || tag.length > most) {
      failure("{}: a variable has {} of type {} and {} bytes; the file is damaged", path_, what, tag.type, tag.length);
    }
    if (tag.small) return {tag.bytes.begin(), tag.bytes.begin() + tag.length};
    std::vector<std::byte> bytes(padded(tag.length));
    claim(bytes.size());
    content_.read(bytes);
    bytes.resize(tag.length);
    return bytes;
  }

  // MATLAB stores a matrix of doubles as integers if nothing is lost: we use the stored type.
  void parse_data(Variable& variable) {
    const Tag tag = next_tag();
    const auto* stored = std::find_if(std::begin(kStored), std::end(kStored),
                                      [&](const Stored& known) { return known.type == tag.type; });
    if (stored == std::end(kStored)) {
      failure("{}: its variable {} holds data of type {}, which is not a numeric type of MATLAB", path_,
              variable.part.name, tag.type);
    }
    variable.element = stored->element;
    variable.part.kind = name_of(stored->element);
    variable.data_length = tag.length;
    variable.data = tag.small ? content_.position() - tag.bytes.size() : content_.position();
    if (!tag.small) claim(tag.length);
    variable.rest = left_ + kTagBytes;
    if (checked_bytes(path_, variable.part.sizes, size_of(stored->element)) != tag.length) {
      failure("{}: its variable {} has {} bytes for {} elements of {}; the file is damaged", path_, variable.part.name,
              tag.length, joined(variable.part.sizes, " x "), name_of(stored->element));
    }
  }

  void claim(std::uint64_t bytes) {
    if (bytes > left_) failure("{}: a variable is longer than it says; the file is damaged", path_);
    left_ -= bytes;
  }

  Mat5Content& content_;
  std::uint64_t left_;
  bool swap_;
  const std::string& path_;
};

std::vector<Variable> variables_of(const InputFile& file, bool swap) {
  std::vector<Variable> variables;
  std::array<std::byte, kTagBytes> bytes;
  for (std::uint64_t at = kHeaderBytes; at < file.size();) {
    file.read_at(at, bytes);
    Tag tag = parse_tag(bytes, swap);
    at += kTagBytes;
    if (tag.small || (tag.type != kMatrix && tag.type != kCompressed)) {
      failure("{}: has no variable at byte {} (type {}); the file is damaged", file.path(), at - kTagBytes, tag.type);
    }
    if (tag.length > file.size() - at) {
      failure("{}: is truncated: a variable of {} bytes at byte {} goes beyond its {} bytes", file.path(), tag.length,
              at, file.size());
    }
    const std::uint64_t start = at, length = tag.length;
    at += length;
    const bool compressed = tag.type == kCompressed;
    Mat5Content content(file, start, length, compressed);
    if (compressed) {
      content.read(bytes);
      tag = parse_tag(bytes, swap);
      if (tag.small || tag.type != kMatrix) failure("{}: compresses an element of type {}", file.path(), tag.type);
    }
    if (tag.length == 0) continue;  // MATLAB's empty placeholder
    Variable variable = MatrixParser(content, tag.length, swap, file.path()).parse();
    variable.compressed = compressed;
    variable.content = start;
    variable.content_length = length;
    if (!variable.part.name.empty()) variables.push_back(std::move(variable));
  }
  return variables;
}

class Mat5Reader final : public VectorReader {
 public:
  explicit Mat5Reader(const Source& source) : file_(source.path), swap_(source.starts_with("MI", kOrderAt)) {
    const auto variables = variables_of(file_, swap_);
    std::vector<NamedPart> parts;
    for (const auto& variable : variables) parts.push_back(variable.part);
    const Variable& chosen = variables[choose_variable(source, parts)];
    const auto& sizes = chosen.part.sizes;
    shape_ = {1, sizes[0], chosen.element};
    for (std::size_t i = 1; i < sizes.size(); ++i) shape_.dimension *= sizes[i];
    offset_ = chosen.content + chosen.data;
    if (chosen.compressed) decompress(chosen);
  }

  void read(std::size_t count, std::byte* out) override {
    if (shape_.dimension == 0) return;
    const auto read_at = [this](std::uint64_t at, std::span<std::byte> to) {
      if (!data_) return file_.read_at(offset_ + at, to);
      std::memcpy(to.data(), data_->data() + at, to.size());
    };
    constexpr std::size_t kBlockBytes = std::size_t{1} << 28;  // bounds the copy that is transposed
    const std::size_t most = std::max<std::size_t>(1, kBlockBytes / shape_.bytes_per_vector());
    while (count > 0) {
      const std::size_t n = std::min(count, most);
      read_column_major(shape_, next_, n, read_at, out);
      if (swap_) swap_bytes(size_of(shape_.element), n * shape_.dimension, out);
      next_ += n;
      out += n * shape_.bytes_per_vector();
      count -= n;
    }
  }

 private:
  // Columns are far apart, so all data is needed before the first vector. Memory grows only as data is actually read.
  void decompress(const Variable& chosen) {
    constexpr std::uint64_t kPiece = 1 << 20;
    Mat5Content content(file_, chosen.content, chosen.content_length, true);
    content.skip(chosen.data);
    auto& data = data_.emplace();
    while (data.size() < chosen.data_length) {
      const std::size_t done = data.size();
      data.resize(done + std::min(kPiece, chosen.data_length - done));
      content.read(std::span(data).subspan(done));
    }
    content.expect_end_within(chosen.rest);
  }

  InputFile file_;
  bool swap_;
  std::uint64_t offset_ = 0;                    // of the data in the file
  std::optional<std::vector<std::byte>> data_;  // if it is compressed there
  std::size_t next_ = 0;
};

class Mat5Writer final : public VectorWriter {
 public:
  explicit Mat5Writer(const Destination& to) : file_(to.path), shape_(to.shape) {
    require_random_access(to, file_);
    const std::string name = variable_name(to);
    const std::uint64_t sizes[] = {shape_.count, shape_.dimension};
    const std::uint64_t data = checked_bytes(to.path, sizes, size_of(shape_.element));
    const std::uint64_t inner = 16 + 16 + kTagBytes + padded(name.size()) + kTagBytes + padded(data);
    constexpr std::uint64_t kMost = INT32_MAX;
    if (inner > kMost || shape_.count > kMost || shape_.dimension > kMost) {
      misuse("{}: a variable of {} bytes is over the 2 GB that MATLAB 5 files can hold; write .mat73 or .hdf5", to.path,
             data);
    }
    const auto* stored = std::find_if(std::begin(kStored), std::end(kStored),
                                      [&](const Stored& known) { return known.element == shape_.element; });
    if (stored == std::end(kStored)) misuse("{}: MATLAB has no matrices of {}", to.path, name_of(shape_.element));

    std::string header = std::string(kText) + ", written by bdnn";
    header.resize(kHeaderBytes - 4, ' ');
    header += std::string("\0\1IM", 4);
    const auto put = [&header](std::initializer_list<std::uint64_t> words) {
      for (const std::uint64_t value : words) {
        for (int shift = 0; shift < 32; shift += 8) header += static_cast<char>(value >> shift & 0xff);
      }
    };
    put({kMatrix, inner});
    put({kUint32, 8, stored->matlab_class, 0});
    put({kInt32, 8, shape_.count, shape_.dimension});
    put({kInt8, name.size()});
    header += name;
    header.append(padded(name.size()) - name.size(), '\0');
    put({stored->type, data});
    offset_ = header.size();
    file_.write(header);
    const std::vector<std::byte> padding(padded(data) - data);
    file_.write_at(offset_ + data, padding);
  }

  void write(std::size_t count, const std::byte* vectors) override {
    const auto to_file = [this](std::uint64_t at, std::span<const std::byte> bytes) {
      file_.write_at(offset_ + at, bytes);
    };
    write_column_major(shape_, next_, count, vectors, to_file);
    next_ += count;
  }

  void finish() override { file_.commit(); }

 private:
  OutputFile file_;
  Shape shape_;
  std::uint64_t offset_ = 0;
  std::size_t next_ = 0;
};

bool recognise(const Source& source) {
  return source.starts_with(kText) && (source.starts_with("IM", kOrderAt) || source.starts_with("MI", kOrderAt));
}

std::unique_ptr<VectorReader> open(const Source& source) {
  if (!recognise(source)) {
    failure("{}: does not start as MATLAB's files of version 5 do; save it in MATLAB with -v7 or -v7.3", source.path);
  }
  require_random_access(source);
  return std::make_unique<Mat5Reader>(source);
}

std::unique_ptr<VectorWriter> create(const Destination& to) { return std::make_unique<Mat5Writer>(to); }

}  // namespace

const Format kMat5 = {"mat",
                      "MATLAB 5 to 7, a vector per row of a matrix",
                      {".mat"},
                      recognise,
                      open,
                      create,
                      {Element::f32, Element::f64, Element::u8, Element::i8, Element::u16, Element::i16, Element::u32,
                       Element::i32, Element::u64, Element::i64}};

}  // namespace bdnn
