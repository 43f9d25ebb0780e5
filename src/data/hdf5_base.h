// HDF5's C library with owners for its handles, its errors as text, and its types as Elements.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bdnn/vectors.h"

namespace bdnn::hdf5 {

// Held wherever the library is called: it admits one thread at a time, as Debian builds the library without thread
// safety, and turns off the library's printing of errors, which is restored afterwards.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
  bool restore_ = false;
};

// Owns one handle.
class Id {
 public:
  using Close = herr_t (*)(hid_t);

  Id() = default;
  Id(hid_t id, Close how) : id_(id), close_(how) {}
  ~Id() { close(); }
  Id(Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Id& operator=(Id&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;

  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }
  // False if the library reports an error: a file's last bytes may be written only now.
  bool close();

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

// The innermost message of the library's last error; for a failed system call, the system's message.
std::string reason();

// Messages name the path of the file.
Id open_file(const std::string& path);

// The names of the objects in the root group; recursive: of all objects, as paths without a leading slash.
std::vector<std::string> names_in(hid_t file, bool recursive, const std::string& path);

// An open dataset and its layout.
struct Table {
  Id dataset;
  std::vector<std::uint64_t> dims;
  std::vector<std::uint64_t> chunk;  // the dimensions of a chunk; empty if it is not stored in chunks
  std::optional<Element> element;    // nullopt: not numbers that we support
  std::string kind;                  // the element's name, or the kind of its content
};
// `axis` is the dimension along which it will be read front to back, first or last.
enum class Axis { first, last };
Table open_table(hid_t file, const std::string& name, Axis axis, const std::string& path);

// Raises Error if a file of that size cannot hold the table, so that a false size allocates no memory.
void check_storage(const Table& table, std::uint64_t file_size, const std::string& name);

Id type_of(Element element);

// Holds the bytes of a file that the library writes: no write can fail, and the bytes are ours once the file is closed.
class MemoryFile {
 public:
  MemoryFile() = default;
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  Id access();  // to create the file with, once
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  static void* allocate(std::size_t size, H5FD_file_image_op_t, void* self);
  static void* reallocate(void*, std::size_t size, H5FD_file_image_op_t, void* self);

  std::vector<std::byte> bytes_;
};

// A text attribute of an object; empty if there is none.
std::string text_attribute(hid_t object, const char* name);

}  // namespace bdnn::hdf5
