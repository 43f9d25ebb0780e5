#include "model/tensor_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/checksum.h"
#include "base/error.h"
#include "base/sizes.h"

namespace bdnn {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 1 << 24;
constexpr const char* kMetadata = "__metadata__";

// The checksum is of the whole file with these digits in its place.
constexpr std::string_view kNoChecksum = "0000000000000000";
constexpr std::string_view kChecksumKey = "\"checksum\":\"";

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

}  // namespace

TensorFileWriter::TensorFileWriter(const TensorFormat& format) {
  fact("format", std::string(format.name));
  needs_version(1);
  fact("checksum", std::string(kNoChecksum));
}

void TensorFileWriter::needs_version(int version) {
  version_ = std::max(version_, version);
  fact("version", std::to_string(version_));
}

void TensorFileWriter::fact(const std::string& key, const std::string& value) { facts_[key] = value; }

void TensorFileWriter::list(const std::string& key, const std::vector<std::string>& values) {
  fact(key, Json::array(values).text());
}

void TensorFileWriter::map(const std::string& key, const std::map<std::string, std::string>& values) {
  fact(key, Json(values).text());
}

void TensorFileWriter::add(const std::string& name, const char* type, std::span<const std::byte> bytes,
                           const std::vector<std::size_t>& shape) {
  const std::size_t begin = tensors_.size();
  tensors_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  descriptions_[name] = {{"data_offsets", Json::array(std::array{begin, tensors_.size()})},
                         {"dtype", type},
                         {"shape", Json::array(shape)}};
}

void TensorFileWriter::tensor(const std::string& name, std::span<const float> values,
                              const std::vector<std::size_t>& shape) {
  add(name, "F32", std::as_bytes(values), shape);
}

void TensorFileWriter::tensor(const std::string& name, std::span<const std::uint8_t> values,
                              const std::vector<std::size_t>& shape) {
  add(name, "U8", std::as_bytes(values), shape);
}

void TensorFileWriter::tensor(const std::string& name, std::span<const std::uint32_t> values,
                              const std::vector<std::size_t>& shape) {
  add(name, "U32", std::as_bytes(values), shape);
}

std::string TensorFileWriter::finish() {
  std::map<std::string, Json> header = descriptions_;
  header[kMetadata] = facts_;
  std::string text = Json(header).text();
  text.append((8 - text.size() % 8) % 8, ' ');  // tensors start on a multiple of 8
  const std::uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), kLengthBytes);
  bytes += text;
  bytes += tensors_;
  const std::uint64_t sum = checksum(std::as_bytes(std::span(bytes)));
  bytes.replace(kLengthBytes + text.find(kChecksumKey) + kChecksumKey.size(), kNoChecksum.size(), hex(sum));
  return bytes;
}

TensorFileReader::TensorFileReader(std::string_view bytes, std::string name, const TensorFormat& format)
    : bytes_(bytes), name_(std::move(name)), format_(format) {
  read_header();
  check_version();
  check_checksum();
}

bool TensorFileReader::has_tensor(const std::string& name) const { return !header_[name].is_null(); }

void TensorFileReader::broken(const std::string& what) const {
  failure("{}: is not a usable {}: it {}", name_, format_.noun, what);
}

void TensorFileReader::read_header() {
  if (bytes_.size() < kLengthBytes) broken(fmt::format("is only {} bytes long", bytes_.size()));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes_.data(), kLengthBytes);
  if (length > kMaxHeader || length > bytes_.size() - kLengthBytes) {
    broken(fmt::format("states a header of {} bytes in a file of {}: truncated, or another kind of file", length,
                       bytes_.size()));
  }
  header_text_ = bytes_.substr(kLengthBytes, length);
  tensors_ = bytes_.substr(kLengthBytes + length);
  try {
    header_ = JsonValue::parse(header_text_);
  } catch (const Error& error) {
    broken(fmt::format("has a header that {}: truncated, damaged, or another kind of file", error.what()));
  }
  if (header_[kMetadata].as_object() == nullptr) broken("has no '__metadata__': not written by bdnn");
  if (fact("format") != format_.name) {
    broken(fmt::format("is of the format '{}', not '{}'", fact("format"), format_.name));
  }
}

void TensorFileReader::check_version() const {
  const std::uint64_t version = number("version");
  if (version < 1) broken("has the version 0");
  if (version > static_cast<std::uint64_t>(format_.version)) {
    failure("{}: is a {} of version {}, this program knows up to {}; use a newer bdnn (it was written by {})", name_,
            format_.noun, version, format_.version, fact("program"));
  }
}

void TensorFileReader::check_checksum() const {
  const std::string stated = fact("checksum");
  const auto at = header_text_.find(kChecksumKey);
  if (at == std::string_view::npos || stated.size() != kNoChecksum.size()) broken("has no checksum");
  const std::size_t start = kLengthBytes + at + kChecksumKey.size();
  Checksum sum;
  sum.add(std::as_bytes(std::span(bytes_.substr(0, start))));
  sum.add(std::as_bytes(std::span(kNoChecksum)));
  sum.add(std::as_bytes(std::span(bytes_.substr(start + kNoChecksum.size()))));
  if (hex(sum.value()) != stated) broken("is damaged: its checksum does not match");
}

std::optional<std::string> TensorFileReader::find_fact(const std::string& key) const {
  const std::string* value = header_[kMetadata][key].as_string();
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::string TensorFileReader::fact(const std::string& key) const {
  const auto found = find_fact(key);
  if (!found) broken(fmt::format("has no '{}' in its metadata", key));
  return *found;
}

std::uint64_t TensorFileReader::number(const std::string& key) const {
  const std::string digits = fact(key);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    broken(fmt::format("has '{}' in the place of a number ({})", digits, key));
  }
  return value;
}

float TensorFileReader::real(const std::string& key) const {
  const std::string digits = fact(key);
  float value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value)) {
    broken(fmt::format("has '{}' in the place of a number ({})", digits, key));
  }
  return value;
}

std::vector<std::string> TensorFileReader::list(const std::string& key) const {
  const JsonValue content = json_fact(key);
  if (content.as_array() == nullptr) broken(fmt::format("has {} that are not a list", key));
  std::vector<std::string> values;
  for (const JsonValue& value : *content.as_array()) {
    if (value.as_string() == nullptr) broken(fmt::format("has {} that are not a list of strings", key));
    values.push_back(*value.as_string());
  }
  return values;
}

std::map<std::string, std::string> TensorFileReader::map(const std::string& key) const {
  const JsonValue content = json_fact(key);
  if (content.as_object() == nullptr) broken(fmt::format("has {} that are not a JSON object", key));
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : *content.as_object()) {
    if (value.as_string() == nullptr) broken(fmt::format("has the entry '{}' of {} that is not a string", name, key));
    values[name] = *value.as_string();
  }
  return values;
}

JsonValue TensorFileReader::json_fact(const std::string& key) const {
  const std::string text = fact(key);
  try {
    return JsonValue::parse(text);
  } catch (const Error& error) {
    broken(fmt::format("has '{}' in its metadata that {}", key, error.what()));
  }
}

std::span<const std::byte> TensorFileReader::tensor(const std::string& name, std::string_view type, std::size_t size,
                                                    std::size_t rank, std::vector<std::size_t>& shape) const {
  const JsonValue& description = header_[name];
  if (description.as_object() == nullptr) broken(fmt::format("lacks the tensor '{}'", name));
  const std::string* stated_type = description["dtype"].as_string();
  const JsonValue::Elements* extents = description["shape"].as_array();
  const JsonValue::Elements* offsets = description["data_offsets"].as_array();
  if (stated_type == nullptr || *stated_type != type || extents == nullptr || extents->size() != rank ||
      offsets == nullptr || offsets->size() != 2) {
    broken(fmt::format("describes the tensor '{}' wrongly", name));
  }
  std::uint64_t bytes = size;
  shape.clear();
  for (const JsonValue& element : *extents) {
    const auto extent = element.as_whole();
    if (!extent || *extent < 1 || !multiply_checked(bytes, *extent)) {
      broken(fmt::format("gives the tensor '{}' an impossible shape", name));
    }
    shape.push_back(*extent);
  }
  const auto begin = offsets->front().as_whole();
  const auto end = offsets->back().as_whole();
  if (!begin || !end) broken(fmt::format("gives the tensor '{}' impossible offsets", name));
  if (*begin > *end || *end > tensors_.size() || *end - *begin != bytes) {
    broken(fmt::format("does not hold the tensor '{}' whole: truncated or damaged", name));
  }
  return std::as_bytes(std::span(tensors_.substr(*begin, *end - *begin)));
}

template <class T>
std::vector<T> TensorFileReader::values(const std::string& name, std::string_view type, std::size_t rank,
                                        std::vector<std::size_t>& shape) const {
  const auto content = tensor(name, type, sizeof(T), rank, shape);
  std::vector<T> values(content.size() / sizeof(T));
  std::memcpy(values.data(), content.data(), content.size());
  return values;
}

std::vector<float> TensorFileReader::floats(const std::string& name, std::size_t rank,
                                            std::vector<std::size_t>& shape) const {
  std::vector<float> all = values<float>(name, "F32", rank, shape);
  for (const float value : all) {
    if (!std::isfinite(value)) broken(fmt::format("has an infinite or undefined number in the tensor '{}'", name));
  }
  return all;
}

std::vector<std::uint8_t> TensorFileReader::bytes(const std::string& name, std::size_t rank,
                                                  std::vector<std::size_t>& shape) const {
  return values<std::uint8_t>(name, "U8", rank, shape);
}

std::vector<std::uint32_t> TensorFileReader::numbers(const std::string& name, std::size_t rank,
                                                     std::vector<std::size_t>& shape) const {
  return values<std::uint32_t>(name, "U32", rank, shape);
}

std::string stated_checksum(const std::string& bytes) {
  return bytes.substr(bytes.find(kChecksumKey) + kChecksumKey.size(), kNoChecksum.size());
}

bool looks_like_tensor_file(std::string_view head) {
  constexpr std::string_view kStart = "{\"__metadata__\"";  // JSON objects are written with sorted keys
  return head.size() > kLengthBytes && head.substr(kLengthBytes).starts_with(kStart);
}

}  // namespace bdnn
