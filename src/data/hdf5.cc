// HDF5 as ann-benchmarks keeps it (datasets train, test, neighbors, distances), and MATLAB 7.3, which is HDF5 with the
// dimensions reversed and a header of its own in front.
#include <algorithm>

#include "base/error.h"
#include "data/column_major.h"
#include "data/format.h"
#include "data/hdf5_base.h"
#include "data/hdf5_probe.h"
#include "data/named_parts.h"

namespace bdnn {
namespace {

using hdf5::Axis;
using hdf5::Id;
using hdf5::Session;
using hdf5::Table;

constexpr std::string_view kMagic("\x89HDF\r\n\x1a\n", 8);
constexpr std::string_view kMatlabText = "MATLAB 7.3 MAT-file";
constexpr std::size_t kMatlabUserBlock = 512;

NamedPart describe(const Table& table, const std::string& name) {
  // A dataset without dimensions is one number.
  return {name, table.dims, table.kind, table.element.has_value() && !table.dims.empty()};
}

std::vector<NamedPart> datasets_of(hid_t file, const std::string& path) {
  std::vector<NamedPart> parts;
  for (const auto& name : hdf5::names_in(file, true, path)) {
    const Id object(H5Oopen(file, name.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object.valid()) failure("{}: cannot open its {}: {}", path, name, hdf5::reason());
    if (H5Iget_type(object.get()) != H5I_DATASET) continue;
    parts.push_back(describe(hdf5::open_table(file, name, Axis::first, path), name));
  }
  return parts;
}

Table choose_dataset(hid_t file, const Source& source) {
  const std::string wanted = source.part.empty() ? "train" : source.part;
  if (Id(H5Dopen2(file, wanted.c_str(), H5P_DEFAULT), H5Dclose).valid()) {
    return hdf5::open_table(file, wanted, Axis::first, source.path);
  }
  const auto parts = datasets_of(file, source.path);
  if (!source.part.empty()) {
    failure("{}: has no readable dataset '{}'; it has {}", source.path, source.part, list_parts(parts));
  }
  const auto chosen = choose_part(parts, {});
  if (!chosen) {
    failure("{}: it is unclear which dataset holds the vectors; name one as {}:NAME; it has {}", source.path,
            file_name(source.path), list_parts(parts));
  }
  return hdf5::open_table(file, parts[*chosen].name, Axis::first, source.path);
}

// The MATLAB class of a dataset; files of other programs may not state it.
bool is_matlab_matrix(const std::string& matlab_class) {
  for (const std::string_view name :
       {"", "double", "single", "logical", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}) {
    if (matlab_class == name) return true;
  }
  return false;
}

Table choose_matlab(hid_t file, const Source& source) {
  std::vector<NamedPart> variables;
  for (const auto& name : hdf5::names_in(file, false, source.path)) {
    if (name.starts_with('#')) continue;  // MATLAB's own data, referenced by cells and objects
    const Id object(H5Oopen(file, name.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object.valid()) failure("{}: cannot open its variable {}: {}", source.path, name, hdf5::reason());
    const std::string matlab_class = hdf5::text_attribute(object.get(), "MATLAB_class");
    const bool sparse = H5Aexists(object.get(), "MATLAB_sparse") > 0;
    if (H5Iget_type(object.get()) != H5I_DATASET) {
      variables.push_back({name, {}, sparse ? "sparse" : matlab_class.empty() ? "struct" : matlab_class, false});
      continue;
    }
    NamedPart part = describe(hdf5::open_table(file, name, Axis::last, source.path), name);
    std::reverse(part.sizes.begin(), part.sizes.end());
    if (part.kind == "compound") part.kind = "complex " + matlab_class;
    if (!is_matlab_matrix(matlab_class) || H5Aexists(object.get(), "MATLAB_empty") > 0) {
      part = {name, {}, is_matlab_matrix(matlab_class) ? "empty" : matlab_class, false};
    }
    variables.push_back(std::move(part));
  }
  return hdf5::open_table(file, variables[choose_variable(source, variables)].name, Axis::last, source.path);
}

class Hdf5Reader final : public VectorReader {
 public:
  Hdf5Reader(const Source& source, bool matlab) : name_(source.name()), axis_(matlab ? Axis::last : Axis::first) {
    const Session session;
    file_ = hdf5::open_file(source.path);
    table_ = matlab ? choose_matlab(file_.get(), source) : choose_dataset(file_.get(), source);
    if (!table_.element) failure("{}: is {}; vectors are integers or floats of at most 64 bits", name_, table_.kind);
    const auto& dims = table_.dims;
    if (dims.empty()) failure("{}: is a single number; expected a table of vectors", name_);
    checked_bytes(name_, dims, size_of(*table_.element));
    hdf5::check_storage(table_, source.size, name_);
    along_ = axis_ == Axis::first ? 0 : dims.size() - 1;
    shape_ = {1, dims[along_], *table_.element};
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (i != along_) shape_.dimension *= dims[i];
    }
    type_ = hdf5::type_of(shape_.element);
  }

  void skip_to(std::size_t vector) { next_ = vector; }

  void read(std::size_t count, std::byte* out) override {
    if (shape_.dimension == 0) return;
    if (axis_ == Axis::first) return read_slab(count, out);
    constexpr std::size_t kBlockBytes = std::size_t{1} << 28;  // bounds the copy that is transposed
    const std::size_t most = std::max<std::size_t>(1, kBlockBytes / shape_.bytes_per_vector());
    while (count > 0) {
      const std::size_t n = std::min(count, most);
      block_.resize(n * shape_.bytes_per_vector());
      read_slab(n, block_.data());
      transpose_elements(size_of(shape_.element), shape_.dimension, n, block_.data(), out);
      out += block_.size();
      count -= n;
    }
  }

 private:
  void read_slab(std::size_t count, std::byte* out) {
    if (count == 0) return;
    const Session session;
    Box box{std::vector<hsize_t>(table_.dims.size(), 0), {table_.dims.begin(), table_.dims.end()}};
    box.start[along_] = next_;
    box.extent[along_] = count;
    const Id in_memory(H5Screate_simple(static_cast<int>(box.extent.size()), box.extent.data(), nullptr), H5Sclose);
    if (!read_box(box, in_memory, out)) {
      failure("{}: cannot read vectors {} to {}: {}", name_, next_, next_ + count - 1, hdf5::reason());
    }
    next_ += count;
  }

  // A part of the table, from `start` on.
  struct Box {
    std::vector<hsize_t> start, extent;
  };

  // The library takes some KB for every chunk that a read touches, so a box of many chunks is read in halves.
  bool read_box(const Box& box, const Id& in_memory, std::byte* out) {
    constexpr double kMostChunks = 4096;
    double chunks = 1;
    std::size_t cut = table_.chunk.size();  // the first dimension that has several
    for (std::size_t i = table_.chunk.size(); i-- > 0;) {
      chunks *= static_cast<double>(chunks_across(box, i));
      if (chunks_across(box, i) > 1) cut = i;
    }
    if (chunks > kMostChunks) {
      Box front = box, back = box;
      const hsize_t chunk = table_.chunk[cut];
      const hsize_t middle = (box.start[cut] / chunk + chunks_across(box, cut) / 2) * chunk;
      front.extent[cut] = middle - box.start[cut];
      back.start[cut] = middle;
      back.extent[cut] -= front.extent[cut];
      return read_box(front, in_memory, out) && read_box(back, in_memory, out);
    }
    const Id in_file(H5Dget_space(table_.dataset.get()), H5Sclose);
    std::vector<hsize_t> place = box.start;
    place[along_] -= next_;
    const auto select = [&](const Id& space, const std::vector<hsize_t>& start) {
      return H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, box.extent.data(), nullptr) >= 0;
    };
    return select(in_file, box.start) && select(in_memory, place) &&
           H5Dread(table_.dataset.get(), type_.get(), in_memory.get(), in_file.get(), H5P_DEFAULT, out) >= 0;
  }

  hsize_t chunks_across(const Box& box, std::size_t i) const {
    return (box.start[i] + box.extent[i] - 1) / table_.chunk[i] - box.start[i] / table_.chunk[i] + 1;
  }

  std::string name_;
  Axis axis_;
  std::size_t along_ = 0;  // the dimension that counts the vectors
  Id file_;
  Table table_;
  Id type_;
  std::size_t next_ = 0;
  std::vector<std::byte> block_;
};

std::string_view matlab_class_of(Element element) {
  switch (element) {
    case Element::f16: break;
    case Element::f32: return "single";
    case Element::f64: return "double";
    case Element::u8: return "uint8";
    case Element::i8: return "int8";
    case Element::u16: return "uint16";
    case Element::i16: return "int16";
    case Element::u32: return "uint32";
    case Element::i32: return "int32";
    case Element::u64: return "uint64";
    case Element::i64: return "int64";
  }
  misuse("MATLAB has no matrices of {}", name_of(element));
}

// HDF5 1.10 crashes at exit after it could not write a file, as on a full disk. So it lays out an empty dataset in
// memory; what it wrote is copied to the file, and the vectors are written in their place, by OutputFile.
class Hdf5Writer final : public VectorWriter {
 public:
  Hdf5Writer(const Destination& to, bool matlab) : file_(to.path), shape_(to.shape), matlab_(matlab) {
    require_random_access(to, file_);
    const std::uint64_t sizes[] = {shape_.count, shape_.dimension};
    const std::uint64_t data = checked_bytes(to.path, sizes, size_of(shape_.element));
    const std::string name = matlab_ ? variable_name(to) : to.part.empty() ? "train" : to.part;
    const std::vector<std::byte> layout = create_layout(name, data);
    const auto front = std::span(layout).first(std::min<std::uint64_t>(layout.size(), offset_));
    file_.write_at(0, front);
    if (layout.size() > offset_ + data) file_.write_at(offset_ + data, std::span(layout).subspan(offset_ + data));
    if (matlab_) write_matlab_header();
  }

  void write(std::size_t count, const std::byte* vectors) override {
    if (matlab_) {
      const auto to_file = [this](std::uint64_t at, std::span<const std::byte> bytes) {
        file_.write_at(offset_ + at, bytes);
      };
      write_column_major(shape_, next_, count, vectors, to_file);
    } else {
      const std::size_t bytes = shape_.bytes_per_vector();
      file_.write_at(offset_ + next_ * bytes, {vectors, count * bytes});
    }
    next_ += count;
  }

  void finish() override { file_.commit(); }

 private:
  [[noreturn]] void fail() const { failure("{}: cannot write: {}", file_.path(), hdf5::reason()); }

  // The file as HDF5 makes it, up to the last byte before the vectors; sets offset_.
  std::vector<std::byte> create_layout(const std::string& name, std::uint64_t data) {
    const Session session;
    const Id creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    if (matlab_) H5Pset_userblock(creation.get(), kMatlabUserBlock);
    hdf5::MemoryFile memory;
    const Id access = memory.access();
    // One block for everything but the vectors, so that it comes first: each group of the name takes some 1 KB.
    constexpr hsize_t kPerGroup = 2048;
    const auto groups = static_cast<hsize_t>(1 + std::count(name.begin(), name.end(), '/'));
    H5Pset_meta_block_size(access.get(), kPerGroup * (1 + groups));
    Id file(H5Fcreate(file_.path().c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
    if (!file.valid()) fail();
    create_dataset(file.get(), name, data);
    if (!file.close()) fail();
    return memory.take();
  }

  void create_dataset(hid_t file, const std::string& name, std::uint64_t data) {
    hsize_t dims[] = {shape_.count, shape_.dimension};
    if (matlab_) std::swap(dims[0], dims[1]);
    const Id space(H5Screate_simple(2, dims, nullptr), H5Sclose);
    const Id type = hdf5::type_of(shape_.element);
    const Id creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
    const Id link(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(link.get(), 1);
    Id dataset(H5Dcreate2(file, name.c_str(), type.get(), space.get(), link.get(), creation.get(), H5P_DEFAULT),
               H5Dclose);
    if (!dataset.valid()) {
      failure("{}: cannot write: cannot create a dataset '{}': {}", file_.path(), name, hdf5::reason());
    }
    if (matlab_) write_class(dataset.get());
    if (data > 0) {
      const haddr_t offset = H5Dget_offset(dataset.get());
      if (offset == HADDR_UNDEF) fail();
      offset_ = offset;
    }
    if (!dataset.close()) fail();
  }

  void write_class(hid_t dataset) {
    const std::string_view text = matlab_class_of(shape_.element);
    const Id type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), text.size());
    const Id space(H5Screate(H5S_SCALAR), H5Sclose);
    Id attribute(H5Acreate2(dataset, "MATLAB_class", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    if (!attribute.valid() || H5Awrite(attribute.get(), type.get(), text.data()) < 0 || !attribute.close()) fail();
  }

  // 116 characters of text, 8 for an absent subsystem, the version and the byte order.
  void write_matlab_header() {
    std::string header = fmt::format("{}, written by bdnn", kMatlabText);
    header.resize(124, ' ');
    header += std::string("\0\2IM", 4);
    header.resize(kMatlabUserBlock, '\0');
    file_.write_at(0, std::as_bytes(std::span(header)));
  }

  OutputFile file_;
  Shape shape_;
  bool matlab_;
  std::uint64_t offset_ = 0;  // of the first vector
  std::size_t next_ = 0;
};

bool recognise_matlab(const Source& source) {
  return source.starts_with(kMatlabText) && source.starts_with(kMagic, kMatlabUserBlock);
}

// The signature may follow a block of the user's own of 512 bytes or of a doubling of that.
bool recognise_hdf5(const Source& source) {
  for (const std::size_t at : {0, 512, 1024, 2048}) {
    if (source.starts_with(kMagic, at)) return true;
  }
  return false;
}

// Reads all of a small file; of a large one its first and last vectors.
void try_to_read(const Source& source, bool matlab) {
  constexpr std::uint64_t kSmall = std::uint64_t{64} << 20;
  Hdf5Reader reader(source, matlab);
  const Shape& shape = reader.shape();
  const std::size_t most =
      std::max<std::size_t>(1, (std::size_t{1} << 20) / std::max<std::size_t>(1, shape.bytes_per_vector()));
  std::vector<std::byte> block(std::min(most, shape.count) * shape.bytes_per_vector());
  const bool all = shape.count <= kSmall / std::max<std::size_t>(1, shape.bytes_per_vector());
  for (std::size_t i = 0; i < shape.count; i += most) {
    const std::size_t count = std::min(most, shape.count - i);
    if (!all && i > 0) reader.skip_to(shape.count - count);
    reader.read(count, block.data());
    if (!all && i > 0) return;
  }
}

template <bool matlab>
std::unique_ptr<VectorReader> open(const Source& source) {
  if (!recognise_hdf5(source)) failure("{}: is not an HDF5 file: it lacks the signature", source.path);
  require_random_access(source);
  hdf5::probe(source.path, [&] { try_to_read(source, matlab); });
  return std::make_unique<Hdf5Reader>(source, matlab);
}

template <bool matlab>
std::unique_ptr<VectorWriter> create(const Destination& to) {
  return std::make_unique<Hdf5Writer>(to, matlab);
}

}  // namespace

const Format kHdf5 = {"hdf5",
                      "HDF5, a vector per row of a dataset (train)",
                      {".hdf5", ".h5"},
                      recognise_hdf5,
                      open<false>,
                      create<false>,
                      {Element::f32, Element::f16, Element::f64, Element::u8, Element::i8, Element::u16, Element::i16,
                       Element::u32, Element::i32, Element::u64, Element::i64}};

const Format kMat73 = {"mat73",
                       "MATLAB 7.3, a vector per row of a matrix",
                       {".mat73"},
                       recognise_matlab,
                       open<true>,
                       create<true>,
                       {Element::f32, Element::f64, Element::u8, Element::i8, Element::u16, Element::i16, Element::u32,
                        Element::i32, Element::u64, Element::i64}};

}  // namespace bdnn
