// Vectors in memory and in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bdnn {

// Element type, in files and in memory.
enum class Element : std::uint8_t { f16, f32, f64, u8, i8, u16, i16, u32, i32, u64, i64 };

std::size_t size_of(Element element);
std::string_view name_of(Element element);  // "f32"

// A table of `count` vectors of `dimension` elements each.
struct Shape {
  std::size_t dimension = 0;
  std::size_t count = 0;
  Element element = Element::f32;

  std::size_t bytes_per_vector() const { return dimension * size_of(element); }
};

// Vectors in memory, one after the other: a D x m column-major matrix whose columns are the samples.
// Elements keep the type they have in the file (uint8 stays uint8) and become float a block at a time.
// Copies are cheap: they share the elements, which never change.
class Vectors {
 public:
  Vectors() = default;
  Vectors(const Vectors&) = default;
  Vectors(Vectors&& other) noexcept { swap(other); }  // leaves `other` empty
  Vectors& operator=(Vectors other) noexcept {
    swap(other);
    return *this;
  }

  // Shares ownership of the elements; `data` holds shape.count * shape.bytes_per_vector() bytes.
  Vectors(Shape shape, std::shared_ptr<const std::byte> data);

  // Takes ownership of the values; values.size() must be dimension * count.
  Vectors(std::size_t dimension, std::size_t count, std::vector<float> values);

  // A view, without a copy, of memory that the caller keeps alive: `count` rows of a C or NumPy array.
  static Vectors view(const float* values, std::size_t dimension, std::size_t count);
  static Vectors view(const std::uint8_t* values, std::size_t dimension, std::size_t count);

  const Shape& shape() const { return shape_; }
  std::size_t dimension() const { return shape_.dimension; }
  std::size_t size() const { return shape_.count; }
  const std::byte* data() const { return data_.get(); }

  // Vectors [first, first + count), without a copy; a range beyond the end raises Error.
  Vectors slice(std::size_t first, std::size_t count) const;

  // Vectors [first, first + count) as floats: in place if they are floats already, otherwise converted into `scratch`,
  // which must have room for count * dimension() floats.
  const float* floats(std::size_t first, std::size_t count, float* scratch) const;

 private:
  void swap(Vectors& other) noexcept {
    std::swap(shape_, other.shape_);
    std::swap(data_, other.data_);
  }

  Shape shape_;
  std::shared_ptr<const std::byte> data_;
};

// Converts n elements to float. Integers and doubles are rounded to the nearest float.
void to_float(Element element, const std::byte* from, std::size_t n, float* to);

// What the columns of a CSV file are for. A column is given by its name in the heading or its number, from 1.
struct CsvColumns {
  std::vector<std::string> vectors = {};  // they make up the vectors, in this order; empty: all columns not named below
  std::vector<std::string> drop = {};     // left out of the vectors
  std::string label = {};                 // holds the labels; "": none
  std::string id = {};                    // holds ids or names; "": none

  bool empty() const { return vectors.empty() && drop.empty() && label.empty() && id.empty(); }
};

// A file of vectors. Its format is recognised by content, then by name: .fvecs .ivecs .bvecs, .npy, idx (also .gz),
// CIFAR-10 .bin, HDF5, MATLAB .mat (v5 and 7.3), CSV and TSV.
struct VectorsFile {
  std::string path;         // "file.hdf5:test" selects one dataset of an HDF5 or MATLAB file that holds several
  CsvColumns columns = {};  // of a CSV file; must be empty for another format

  VectorsFile(const char* file) : path(file) {}
  VectorsFile(std::string file, CsvColumns how = {}) : path(std::move(file)), columns(std::move(how)) {}
};

// Reads a whole file of vectors.
Vectors load_vectors(const VectorsFile& file);

// Writes .fvecs .ivecs .bvecs, .npy, idx (also .gz), HDF5, MATLAB or CSV, chosen by the file name. Elements keep their
// type if the format has it; otherwise they become the first type of the format that holds them all. A value that would
// be lost raises Error.
void save_vectors(const Vectors& vectors, const std::string& path);

// Reads one column or one row of integers from a file of any of these formats; as ids, they go up to 2^64 - 1.
std::vector<std::int64_t> load_integers(const std::string& path);
std::vector<std::uint64_t> load_ids(const std::string& path);

// Reads the cells of a CSV column as text, without their quotes; `column` is its name or its number, from 1.
std::vector<std::string> load_column(const std::string& path, const std::string& column);

// Names behind labels.
using LabelNames = std::unordered_map<std::int64_t, std::string>;

// Reads labels, one per vector: integers as above, the label bytes of CIFAR-10, or names from a text file, in a column
// or a row, or in the column that file.columns.label gives. A name becomes label_of(name), the same in every file, and
// is recorded in `names` if that is given. -1 means no label, among names too; other numbers used as names must be
// quoted.
std::vector<std::int64_t> load_labels(const VectorsFile& file, LabelNames* names = nullptr);
std::int64_t label_of(std::string_view name);  // 63 bits of a hash, never negative

// Writes labels as vectors of dimension 1, in the smallest type that holds them. Returns what was written.
Shape save_labels(const std::vector<std::int64_t>& labels, const std::string& path);

}  // namespace bdnn
