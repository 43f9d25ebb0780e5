// Files of named tensors and facts in the safetensors layout: the length of a JSON header (uint64, little-endian), the
// header, the tensors. Facts are in its "__metadata__", whose values are strings. Ours include a checksum, and the
// format's name and version. docs/formats.md describes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace bdnn {

// The kind of file.
struct TensorFormat {
  std::string_view name;  // "bdnn.model"
  std::string_view noun;  // "model", for messages
  int version;            // the newest this program can read
};

class TensorFileWriter {
 public:
  explicit TensorFileWriter(const TensorFormat& format);

  // The file gets the largest version given, or 1: the oldest that can read its content, so that older programs read
  // what they can.
  void needs_version(int version);
  void fact(const std::string& key, const std::string& value);
  void list(const std::string& key, const std::vector<std::string>& values);           // as JSON in a fact
  void map(const std::string& key, const std::map<std::string, std::string>& values);  // likewise
  void tensor(const std::string& name, std::span<const float> values, const std::vector<std::size_t>& shape);
  void tensor(const std::string& name, std::span<const std::uint8_t> values, const std::vector<std::size_t>& shape);
  void tensor(const std::string& name, std::span<const std::uint32_t> values, const std::vector<std::size_t>& shape);

  // The bytes of the file.
  std::string finish();

 private:
  void add(const std::string& name, const char* type, std::span<const std::byte> bytes,
           const std::vector<std::size_t>& shape);

  int version_ = 1;
  // Sorted by name, as in the file.
  std::map<std::string, std::string> facts_;
  std::map<std::string, Json> descriptions_;
  std::string tensors_;
};

// Reads such a file from memory, which must live as long as the reader. Every fact is checked before it is used; an
// invalid one raises Error with the file's name.
class TensorFileReader {
 public:
  TensorFileReader(std::string_view bytes, std::string name, const TensorFormat& format);

  std::string fact(const std::string& key) const;
  std::optional<std::string> find_fact(const std::string& key) const;
  std::uint64_t number(const std::string& key) const;
  float real(const std::string& key) const;                     // finite
  std::vector<std::string> list(const std::string& key) const;  // of strings
  std::map<std::string, std::string> map(const std::string& key) const;

  bool has_tensor(const std::string& name) const;
  // The values of a tensor of the given rank, which must be finite; its shape goes to `shape`.
  std::vector<float> floats(const std::string& name, std::size_t rank, std::vector<std::size_t>& shape) const;
  std::vector<std::uint8_t> bytes(const std::string& name, std::size_t rank, std::vector<std::size_t>& shape) const;
  std::vector<std::uint32_t> numbers(const std::string& name, std::size_t rank, std::vector<std::size_t>& shape) const;

  // Raises Error: "FILE: is not a usable model: it <what>".
  [[noreturn]] void broken(const std::string& what) const;

 private:
  void read_header();
  void check_version() const;
  void check_checksum() const;
  JsonValue json_fact(const std::string& key) const;
  std::span<const std::byte> tensor(const std::string& name, std::string_view type, std::size_t size, std::size_t rank,
                                    std::vector<std::size_t>& shape) const;
  template <class T>
  std::vector<T> values(const std::string& name, std::string_view type, std::size_t rank,
                        std::vector<std::size_t>& shape) const;

  std::string_view bytes_;
  std::string name_;
  TensorFormat format_;
  std::string_view header_text_;
  std::string_view tensors_;
  JsonValue header_;
};

// The checksum stated in a file's bytes, as TensorFileWriter::finish() gave them.
std::string stated_checksum(const std::string& bytes);

// Whether a file with this start may be one of these.
bool looks_like_tensor_file(std::string_view head);

}  // namespace bdnn
