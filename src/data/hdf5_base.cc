#include "data/hdf5_base.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/sizes.h"
#include "data/named_parts.h"

namespace bdnn::hdf5 {
namespace {

std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}
int session_depth = 0;  // under the mutex

constexpr std::uint64_t kMostShrunk = 4096;  // by filters; deflate comes to 1,032 at best

// For a chunked dataset, caches as many chunks as one step along the axis touches: each is then decompressed once, not
// once for every block that is read. No more than the file can hold, whatever it claims.
void widen_chunk_cache(Table& table, const std::string& name, Axis axis, hid_t file) {
  hsize_t file_size = 0;
  if (H5Fget_filesize(file, &file_size) < 0) return;
  const std::uint64_t most = std::min<std::uint64_t>(std::uint64_t{1} << 28, file_size * kMostShrunk);
  constexpr std::size_t kSlots = 12'421;  // a prime, as the library's manual asks
  const auto& chunk = table.chunk;
  if (chunk.empty()) return;
  const std::size_t along = axis == Axis::first ? 0 : chunk.size() - 1;
  std::uint64_t bytes = size_of(*table.element);
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    const std::uint64_t span = std::max<std::uint64_t>(chunk[i], i == along ? 1 : table.dims[i]);
    if (!multiply_checked(bytes, span) || bytes > most) bytes = most;
  }
  constexpr std::uint64_t kDefault = std::uint64_t{1} << 20;
  if (bytes <= kDefault) return;
  const Id access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(access.get(), kSlots, bytes, 1.0);
  table.dataset = Id();  // a dataset keeps the cache with which it was opened first
  table.dataset = Id(H5Dopen2(file, name.c_str(), access.get()), H5Dclose);
}

// Empty if the dataset is not stored in chunks.
std::vector<std::uint64_t> chunk_of(const Table& table, const std::string& name, const std::string& path) {
  const Id creation(H5Dget_create_plist(table.dataset.get()), H5Pclose);
  if (!creation.valid()) failure("{}: cannot read how its dataset {} is stored: {}", path, name, reason());
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED) return {};
  std::vector<hsize_t> chunk(table.dims.size());
  const int rank = H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data());
  if (rank != static_cast<int>(chunk.size()) || std::ranges::count(chunk, hsize_t{0}) > 0) {
    failure("{}: cannot read the size of the chunks of its dataset {}: {}", path, name, reason());
  }
  return {chunk.begin(), chunk.end()};
}

std::optional<Element> integer_of(hid_t type) {
  const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
  const std::size_t size = H5Tget_size(type);
  if (size == 1) return is_signed ? Element::i8 : Element::u8;
  if (size == 2) return is_signed ? Element::i16 : Element::u16;
  if (size <= 4) return is_signed ? Element::i32 : Element::u32;
  if (size <= 8) return is_signed ? Element::i64 : Element::u64;
  return std::nullopt;
}

// The smallest Element that holds every value of the file's type.
std::optional<Element> float_of(hid_t type) {
  std::size_t sign = 0, exponent_at = 0, exponent = 0, mantissa_at = 0, mantissa = 0;
  if (H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa) < 0) return std::nullopt;
  if (exponent <= 5 && mantissa <= 10) return Element::f16;
  if (exponent <= 8 && mantissa <= 23) return Element::f32;
  if (exponent <= 11 && mantissa <= 52) return Element::f64;
  return std::nullopt;
}

void describe_type(hid_t dataset, Table& table) {
  const Id type(H5Dget_type(dataset), H5Tclose);
  switch (H5Tget_class(type.get())) {
    case H5T_INTEGER: table.element = integer_of(type.get()); break;
    case H5T_FLOAT: table.element = float_of(type.get()); break;
    case H5T_ENUM: {  // h5py's booleans
      const Id base(H5Tget_super(type.get()), H5Tclose);
      table.element = integer_of(base.get());
      break;
    }
    case H5T_STRING: table.kind = "text"; return;
    case H5T_COMPOUND: table.kind = "compound"; return;
    case H5T_REFERENCE: table.kind = "references"; return;
    default: table.kind = "of an unknown type"; return;
  }
  table.kind = table.element ? std::string(name_of(*table.element))
                             : fmt::format("numbers of {} bytes", H5Tget_size(type.get()));
}

}  // namespace

Session::Session() : lock_(library_mutex()) {
  // Only the outermost: setting the printing forgets the last error, which its reporter still wants.
  if (session_depth++ > 0) return;
  restore_ = H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_) >= 0;
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Session::~Session() {
  --session_depth;
  if (restore_) H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

bool Id::close() {
  if (id_ < 0) return true;
  const Session session;
  return close_(std::exchange(id_, -1)) >= 0;
}

std::string reason() {
  std::string text;
  const auto keep_first = [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
    auto& kept = *static_cast<std::string*>(to);
    if (kept.empty() && error->desc != nullptr) kept = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  constexpr std::string_view kSystem = "error message = '";
  if (const auto at = text.find(kSystem); at != std::string::npos) {
    const auto start = at + kSystem.size();
    text = text.substr(start, text.find('\'', start) - start);
  }
  return text.empty() ? "no reason given by the HDF5 library" : text;
}

Id open_file(const std::string& path) {
  const Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // Some network file systems cannot lock; reading does not depend on it.
  H5Pset_file_locking(access.get(), true, true);
  Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file.valid()) failure("{}: cannot open as HDF5: {}", path, reason());
  return file;
}

std::vector<std::string> names_in(hid_t file, bool recursive, const std::string& path) {
  std::vector<std::string> names;
  // Hard links only: others may point outside of the file or nowhere. C code calls this, so nothing may be thrown.
  const auto keep = [](hid_t, const char* name, const H5L_info_t* info, void* to) -> herr_t {
    try {
      if (info->type == H5L_TYPE_HARD) static_cast<std::vector<std::string>*>(to)->emplace_back(name);
      return 0;
    } catch (...) {
      return -1;
    }
  };
  const herr_t done = recursive ? H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, keep, &names)
                                : H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, keep, &names);
  if (done < 0) failure("{}: cannot list what it holds: {}", path, reason());
  return names;
}

Table open_table(hid_t file, const std::string& name, Axis axis, const std::string& path) {
  Table table;
  table.dataset = Id(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!table.dataset.valid()) failure("{}: cannot open its dataset {}: {}", path, name, reason());
  const Id space(H5Dget_space(table.dataset.get()), H5Sclose);
  const int rank = space.valid() ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (rank < 0) failure("{}: cannot read the size of its dataset {}: {}", path, name, reason());
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  table.dims.assign(dims.begin(), dims.end());
  table.chunk = chunk_of(table, name, path);
  describe_type(table.dataset.get(), table);
  if (table.element) widen_chunk_cache(table, name, axis, file);
  if (!table.dataset.valid()) failure("{}: cannot open its dataset {}: {}", path, name, reason());
  return table;
}

void check_storage(const Table& table, std::uint64_t file_size, const std::string& name) {
  const Id creation(H5Dget_create_plist(table.dataset.get()), H5Pclose);
  const Id type(H5Dget_type(table.dataset.get()), H5Tclose);
  if (!creation.valid() || !type.valid()) failure("{}: cannot read how it is stored: {}", name, reason());
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  if (layout == H5D_VIRTUAL || H5Pget_external_count(creation.get()) > 0) {
    failure("{}: is stored in other files; copy it into one", name);
  }
  const std::size_t element = H5Tget_size(type.get());
  std::uint64_t bytes = checked_bytes(name, table.dims, element);
  if (bytes == 0) return;
  if (!table.chunk.empty()) bytes = std::max(bytes, checked_bytes(name, table.chunk, element));
  if (bytes / (H5Pget_nfilters(creation.get()) > 0 ? kMostShrunk : 1) > file_size) {
    failure("{}: is truncated or damaged: it claims {} elements, in a file of {} bytes", name,
            joined(table.dims, " x "), file_size);
  }
}

Id type_of(Element element) {
  const auto copy = [](hid_t type) { return Id(H5Tcopy(type), H5Tclose); };
  switch (element) {
    case Element::f16: {
      Id half = copy(H5T_IEEE_F32LE);
      H5Tset_fields(half.get(), 15, 10, 5, 0, 10);
      H5Tset_size(half.get(), 2);
      H5Tset_ebias(half.get(), 15);
      return half;
    }
    case Element::f32: return copy(H5T_IEEE_F32LE);
    case Element::f64: return copy(H5T_IEEE_F64LE);
    case Element::u8: return copy(H5T_STD_U8LE);
    case Element::i8: return copy(H5T_STD_I8LE);
    case Element::u16: return copy(H5T_STD_U16LE);
    case Element::i16: return copy(H5T_STD_I16LE);
    case Element::u32: return copy(H5T_STD_U32LE);
    case Element::i32: return copy(H5T_STD_I32LE);
    case Element::u64: return copy(H5T_STD_U64LE);
    case Element::i64: return copy(H5T_STD_I64LE);
  }
  failure("unknown element type number {}", static_cast<int>(element));
}

Id MemoryFile::access() {
  H5FD_file_image_callbacks_t callbacks{};
  callbacks.image_malloc = allocate;
  callbacks.image_realloc = reallocate;
  callbacks.image_free = [](void*, H5FD_file_image_op_t, void*) -> herr_t { return 0; };
  callbacks.udata_copy = [](void* self) { return self; };
  callbacks.udata_free = [](void*) -> herr_t { return 0; };
  callbacks.udata = this;
  constexpr std::size_t kGrowth = 4096;
  Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (H5Pset_fapl_core(access.get(), kGrowth, false) < 0 || H5Pset_file_image_callbacks(access.get(), &callbacks) < 0) {
    failure("the HDF5 library cannot make a file in memory: {}", reason());
  }
  return access;
}

void* MemoryFile::allocate(std::size_t size, H5FD_file_image_op_t, void* self) {
  try {
    auto& bytes = static_cast<MemoryFile*>(self)->bytes_;
    bytes.resize(size);
    return bytes.data();
  } catch (...) {
    return nullptr;  // C code calls this
  }
}

void* MemoryFile::reallocate(void*, std::size_t size, H5FD_file_image_op_t op, void* self) {
  return allocate(size, op, self);
}

std::string text_attribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return {};
  const Id attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  const Id type(H5Aget_type(attribute.get()), H5Tclose);
  const Id space(H5Aget_space(attribute.get()), H5Sclose);
  if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1) return {};
  if (H5Tis_variable_str(type.get()) > 0) {
    const Id memory(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(memory.get(), H5T_VARIABLE);
    H5Tset_cset(memory.get(), H5Tget_cset(type.get()));
    char* text = nullptr;
    if (H5Aread(attribute.get(), memory.get(), static_cast<void*>(&text)) < 0 || text == nullptr) return {};
    std::string copy = text;
    H5free_memory(text);
    return copy;
  }
  std::array<char, 64> text{};  // MATLAB's class names are short
  if (H5Tget_size(type.get()) >= text.size()) return {};
  if (H5Aread(attribute.get(), type.get(), text.data()) < 0) return {};
  return text.data();
}

}  // namespace bdnn::hdf5
