// The interface of a file format: it is recognised, read from front to back, and written.
//
// A format is one source file that defines its entry below; formats.cc lists the entries. To add one, write the
// entry, name it here and in that list, and give it a line in formats_test.cc and docs/formats.md.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "bdnn/vectors.h"
#include "data/byte_stream.h"

namespace bdnn {

// Vectors laid out in their file as in memory: vector i starts at byte offset + i * stride.
struct Placement {
  std::uint64_t offset = 0;
  std::uint64_t stride = 0;
};

// One pass over the vectors of a file, in order, in bounded memory.
class VectorReader {
 public:
  virtual ~VectorReader() = default;

  const Shape& shape() const { return shape_; }

  // Reads the next `count` vectors, element after element, in this machine's byte order. Reading beyond
  // shape().count is a bug of the caller; a file that ends early raises Error.
  virtual void read(std::size_t count, std::byte* out) = 0;

  // The sizes of one vector, if the file has more than its dimension: {28, 28} of idx images (rows, columns), {3, 32,
  // 32} of CIFAR-10 (planes, rows, columns).
  virtual std::vector<std::size_t> sizes() const { return {shape_.dimension}; }

  // The place of the vectors in the file's content, or nullopt if the format has to be decoded.
  virtual std::optional<Placement> placement() const { return std::nullopt; }

 protected:
  Shape shape_;
};

// One pass of writing, for a number of vectors known from the start.
class VectorWriter {
 public:
  virtual ~VectorWriter() = default;

  virtual void write(std::size_t count, const std::byte* vectors) = 0;
  virtual void finish() = 0;  // after the last vector: puts the file in place
};

// The source of vectors: a file, possibly compressed by gzip, or a named part of it.
struct Source {
  std::string path;
  std::string part;             // dataset or variable name; empty: the format's own choice
  CsvColumns columns;           // of CSV
  bool gzip = false;            // the file starts with gzip's signature
  std::uint64_t size = 0;       // of the content; after decompression if gzip is set
  std::vector<std::byte> head;  // the first bytes of the content, at most kHeadBytes

  static constexpr std::size_t kHeadBytes = 4096;

  // The name for messages: the path and, if given, the part.
  std::string name() const { return part.empty() ? path : path + ":" + part; }
  bool starts_with(std::string_view signature, std::size_t at = 0) const;
  std::unique_ptr<ByteStream> open() const;
};

// A file to write, and its content.
struct Destination {
  std::string path;
  Shape shape;
  std::string part;                       // dataset or variable name, if the format has names
  std::vector<std::int64_t> labels = {};  // one per vector if the format stores labels too, else empty
};

struct Format {
  std::string_view name;                     // "fvecs"
  std::string_view summary;                  // one line for people
  std::vector<std::string_view> extensions;  // ".fvecs"; the first is the usual one

  // Whether the content itself shows that it has this format, whatever the name. Formats without a signature leave this
  // empty, and are recognised by name.
  bool (*recognise)(const Source&) = nullptr;

  std::unique_ptr<VectorReader> (*open)(const Source&) = nullptr;

  // Null for a format that is only read. Raises Error if it cannot hold such vectors.
  std::unique_ptr<VectorWriter> (*create)(const Destination&) = nullptr;

  // The element types that create() can store. Others are converted to the first that loses nothing, else
  // to the first listed.
  std::vector<Element> stores = {};

  bool writes_gzip = false;  // to file names ending in .gz

  // Labels that are not plain integers: those beside the vectors (CIFAR-10), names (text). Null, or an empty result:
  // labels are read as vectors of dimension 1.
  std::vector<std::int64_t> (*labels)(const Source&, LabelNames*) = nullptr;
};

extern const Format kFvecs, kIvecs, kBvecs;  // xvecs.cc
extern const Format kNpy;                    // npy.cc
extern const Format kIdx;                    // idx.cc
extern const Format kCifar10;                // cifar10.cc
extern const Format kHdf5;                   // hdf5.cc
extern const Format kMat5;                   // mat5.cc
extern const Format kMat73;                  // hdf5.cc: HDF5 with MATLAB's habits
extern const Format kCsv;                    // csv.cc

// All formats, in the order in which content is tried.
std::span<const Format* const> formats();

// "file" or "file:part"; an existing file with the whole text as its name takes precedence.
struct SourceName {
  std::string file;
  std::string part;
};
SourceName split_source_name(const std::string& path);

// Opens a file and examines its start.
Source open_source(const VectorsFile& file);
const Format& format_of(const Source& source);

// Raises Error if columns are selected in a file that is not CSV.
void check_columns(const Source& source, const Format& format);

// The format for the name of a file to write, ignoring ".gz". An unknown extension raises Error and lists the known
// ones.
const Format& format_for_writing(const std::string& path);
bool is_gzip_name(const std::string& path);  // ends in .gz

std::unique_ptr<VectorReader> open_vectors(const VectorsFile& file);

// Whether columns can be selected in the file.
bool is_csv(const std::string& path);

// Raises Error for an empty set of vectors, in a format that cannot store their dimension.
void require_vectors(const Destination& to);

// Uninitialised memory for vectors, aligned for SIMD; messages name `what` if there is not enough.
std::shared_ptr<std::byte> allocate_vectors(const Shape& shape, const std::string& what);

// A number that became an infinite or undefined float, for messages: "nan", or "1e+300, which is beyond the range of a
// 32-bit float,".
std::string not_finite_text(const Vectors& x, std::size_t row, std::size_t column);

// Some of the vectors, copied.
Vectors gather(const Vectors& x, const std::vector<std::uint32_t>& rows);

}  // namespace bdnn
