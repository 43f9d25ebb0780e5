// What a file format has to offer: to be recognised, read from front to back, and written.
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

// Vectors that stand in their file as they would in memory: vector i starts at byte offset + i * stride.
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

  // The sizes of one vector, if the file says more than its dimension: {28, 28} of idx images (rows, columns), {3, 32,
  // 32} of CIFAR-10 (planes, rows, columns).
  virtual std::vector<std::size_t> sizes() const { return {shape_.dimension}; }

  // Where the vectors stand in the content of the file; none where they must be read to be had.
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

// Where vectors come from: a file, perhaps compressed by gzip, perhaps one named part of it.
struct Source {
  std::string path;
  std::string part;             // dataset or variable name; empty: the format's own choice
  CsvColumns columns;           // of CSV
  bool gzip = false;            // the file starts with gzip's signature
  std::uint64_t size = 0;       // of the content; after decompression where gzip is set
  std::vector<std::byte> head;  // the first bytes of the content, at most kHeadBytes

  static constexpr std::size_t kHeadBytes = 4096;

  // What to say in messages: the path and, where given, the part.
  std::string name() const { return part.empty() ? path : path + ":" + part; }
  bool starts_with(std::string_view signature, std::size_t at = 0) const;
  std::unique_ptr<ByteStream> open() const;
};

// What is written where.
struct Destination {
  std::string path;
  Shape shape;
  std::string part;                       // dataset or variable name where the format has names
  std::vector<std::int64_t> labels = {};  // one per vector where the format holds them too, else empty
};

struct Format {
  std::string_view name;                     // "fvecs"
  std::string_view summary;                  // one line for people
  std::vector<std::string_view> extensions;  // ".fvecs"; the first is the usual one

  // Whether the content itself says that it is of this format, whatever the name. Formats without a signature
  // leave this empty, and are taken by name.
  bool (*recognise)(const Source&) = nullptr;

  std::unique_ptr<VectorReader> (*open)(const Source&) = nullptr;

  // Null for a format that is only read. Throws Error where it cannot hold such vectors.
  std::unique_ptr<VectorWriter> (*create)(const Destination&) = nullptr;

  // The element types that create() can store. Others are converted to the first that loses nothing, else
  // to the first listed.
  std::vector<Element> stores = {};

  bool writes_gzip = false;  // to a name that ends in .gz

  // Labels that are not plain integers: those beside the vectors (CIFAR-10), names (text). Null, or an empty answer:
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

// "file" or "file:part"; a file that has the whole text for its name goes first.
struct SourceName {
  std::string file;
  std::string part;
};
SourceName split_source_name(const std::string& path);

// Opens a file and finds out what it is.
Source open_source(const VectorsFile& file);
const Format& format_of(const Source& source);

// Refuses columns that are chosen in a file that is not CSV.
void check_columns(const Source& source, const Format& format);

// By the name of a file to write, ".gz" left aside. An unknown ending raises Error that lists the known ones.
const Format& format_for_writing(const std::string& path);
bool is_gzip_name(const std::string& path);  // ends in .gz

std::unique_ptr<VectorReader> open_vectors(const VectorsFile& file);

// Whether columns can be chosen in it.
bool is_csv(const std::string& path);

// Refuses to write an empty set of vectors to a format that has no place for their dimension.
void require_vectors(const Destination& to);

// Uninitialised memory for vectors, aligned for SIMD; `what` needs it, for the message where it is not to be had.
std::shared_ptr<std::byte> allocate_vectors(const Shape& shape, const std::string& what);

// A number that became an infinite or undefined float, for messages: "nan", or "1e+300, which is beyond the range of a
// 32-bit float,".
std::string not_finite_text(const Vectors& x, std::size_t row, std::size_t column);

// Some of the vectors, copied.
Vectors gather(const Vectors& x, const std::vector<std::uint32_t>& rows);

}  // namespace bdnn
