// The safetensors layout: the length of a JSON header (uint64, little-endian), the header, the tensors. Our own facts
// stand in its "__metadata__", whose values safetensors wants to be strings.
#include "hash/model_file.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "bdnn/version.h"
#include "hash/encoder.h"

namespace bdnn {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::string_view kFormat = "bdnn.model";
constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 1 << 24;
constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 34;
constexpr std::size_t kMaxLayers = 64;
constexpr std::size_t kMaxUnits = std::size_t{1} << 24;

// The checksum is of the whole file with these digits in its place.
constexpr std::string_view kNoChecksum = "0000000000000000";
constexpr std::string_view kChecksumKey = "\"checksum\":\"";

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

std::string_view name_of(Activation activation) { return activation == Activation::sigmoid ? "sigmoid" : "identity"; }

std::string weight_name(std::size_t layer) { return fmt::format("layers.{}.weight", layer); }
std::string bias_name(std::size_t layer) { return fmt::format("layers.{}.bias", layer); }

// Reads a model's header with every fact checked before it is used.
class Parser {
 public:
  Parser(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Model parse() {
    read_header();
    check_version();
    check_checksum();
    Model model;
    const std::string form = text("form");
    if (form != "network") broken("has the form '{}'; this program knows 'network'", form);
    model.function = read_network();
    model.record.method = text("method");
    model.record.seed = number("seed");
    model.record.samples = number("samples");
    model.record.data = text("data");
    model.record.program = text("program");
    const auto options = json::parse(text("options"), nullptr, false);
    if (!options.is_object()) broken("has options that are no JSON object");
    for (const auto& [key, value] : options.items()) {
      if (!value.is_string()) broken("has the option '{}' that is no string", key);
      model.record.options[key] = value.get<std::string>();
    }
    return model;
  }

 private:
  template <class... Args>
  [[noreturn]] void broken(fmt::format_string<Args...> format, Args&&... args) {
    failure("{}: is no usable model: it {}", name_, fmt::format(format, std::forward<Args>(args)...));
  }

  void read_header() {
    if (bytes_.size() < kLengthBytes) broken("is only {} bytes long", bytes_.size());
    std::uint64_t length = 0;
    std::memcpy(&length, bytes_.data(), kLengthBytes);
    if (length > kMaxHeader || length > bytes_.size() - kLengthBytes) {
      broken("tells of a header of {} bytes in a file of {}: truncated, or another kind of file", length,
             bytes_.size());
    }
    header_text_ = bytes_.substr(kLengthBytes, length);
    tensors_ = bytes_.substr(kLengthBytes + length);
    // A nesting deeper than the format's own is hostile: refuse before the parser recurses.
    const json::parser_callback_t shallow = [this](int depth, json::parse_event_t, json&) {
      if (depth > 8) broken("has a header nested too deep");
      return true;
    };
    header_ = json::parse(header_text_, shallow, false);
    if (!header_.is_object()) broken("has a header that is not JSON: truncated, damaged, or another kind of file");
    const auto metadata = header_.find("__metadata__");
    if (metadata == header_.end() || !metadata->is_object()) broken("has no '__metadata__': not written by bdnn");
    metadata_ = *metadata;
    if (text("format") != kFormat) broken("is of the format '{}', not '{}'", text("format"), kFormat);
  }

  void check_version() {
    const std::uint64_t version = number("version");
    if (version < 1) broken("has the version 0");
    if (version > kVersion) {
      failure("{}: is a model of version {}, this program knows up to {}; use a newer bdnn (it was written by {})",
              name_, version, kVersion, text("program"));
    }
  }

  void check_checksum() {
    const std::string stated = text("checksum");
    const auto at = header_text_.find(kChecksumKey);
    if (at == std::string_view::npos || stated.size() != kNoChecksum.size()) broken("has no checksum");
    const std::size_t start = kLengthBytes + at + kChecksumKey.size();
    Checksum sum;
    sum.add(std::as_bytes(std::span(bytes_.substr(0, start))));
    sum.add(std::as_bytes(std::span(kNoChecksum)));
    sum.add(std::as_bytes(std::span(bytes_.substr(start + kNoChecksum.size()))));
    if (hex(sum.value()) != stated) broken("is damaged: its checksum does not agree");
  }

  std::string text(const char* key) {
    const auto found = metadata_.find(key);
    if (found == metadata_.end() || !found->is_string()) broken("has no '{}' in its metadata", key);
    return found->get<std::string>();
  }

  std::uint64_t number(const char* key) {
    const std::string digits = text(key);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      broken("has '{}' in the place of a number ({})", digits, key);
    }
    return value;
  }

  // The tensor `name` of the given rank, as floats; its shape goes to `shape`.
  std::vector<float> tensor(const std::string& name, std::size_t rank, std::vector<std::size_t>& shape) {
    const auto found = header_.find(name);
    if (found == header_.end() || !found->is_object()) broken("lacks the tensor '{}'", name);
    const auto type = found->find("dtype");
    const auto dimensions = found->find("shape");
    const auto offsets = found->find("data_offsets");
    if (type == found->end() || *type != "F32" || dimensions == found->end() || !dimensions->is_array() ||
        dimensions->size() != rank || offsets == found->end() || !offsets->is_array() || offsets->size() != 2) {
      broken("describes the tensor '{}' wrongly", name);
    }
    std::size_t count = 1;
    shape.clear();
    for (const auto& dimension : *dimensions) {
      if (!dimension.is_number_unsigned() || dimension.get<std::uint64_t>() < 1 ||
          dimension.get<std::uint64_t>() > kMaxUnits) {
        broken("gives the tensor '{}' an impossible shape", name);
      }
      shape.push_back(dimension.get<std::size_t>());
      count *= shape.back();  // at most 2^48
    }
    if (!(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned()) {
      broken("gives the tensor '{}' impossible offsets", name);
    }
    const auto begin = (*offsets)[0].get<std::uint64_t>();
    const auto end = (*offsets)[1].get<std::uint64_t>();
    if (begin > end || end > tensors_.size() || end - begin != count * sizeof(float)) {
      broken("does not hold the tensor '{}' whole: truncated or damaged", name);
    }
    std::vector<float> values(count);
    std::memcpy(values.data(), tensors_.data() + begin, end - begin);
    for (const float value : values) {
      if (!std::isfinite(value)) broken("has an infinite or undefined number in the tensor '{}'", name);
    }
    return values;
  }

  Network read_network() {
    Network network;
    const auto activations = json::parse(text("activations"), nullptr, false);
    if (!activations.is_array() || activations.empty() || activations.size() > kMaxLayers) {
      broken("has no list of 1 to {} activations", kMaxLayers);
    }
    for (std::size_t i = 0; i < activations.size(); ++i) {
      Layer layer;
      if (activations[i] == "sigmoid") {
        layer.activation = Activation::sigmoid;
      } else if (activations[i] != "identity") {
        broken("has an activation in layer {} that this program does not know", i);
      }
      std::vector<std::size_t> shape;
      layer.weight = tensor(weight_name(i), 2, shape);
      layer.outputs = shape[0];
      layer.inputs = shape[1];
      layer.bias = tensor(bias_name(i), 1, shape);
      if (shape[0] != layer.outputs || (i > 0 && layer.inputs != network.layers.back().outputs)) {
        broken("has layers that do not fit together (layer {})", i);
      }
      network.layers.push_back(std::move(layer));
    }
    if (network.layers.back().activation != Activation::identity) {
      broken("ends in a sigmoid, whose sign says nothing");
    }
    if (network.layers.back().outputs > kMaxBits) broken("gives codes of more than {} bits", kMaxBits);
    return network;
  }

  std::string_view bytes_;
  const std::string& name_;
  std::string_view header_text_;
  std::string_view tensors_;
  json header_;
  json metadata_;
};

}  // namespace

std::string serialize_model(const Model& model) {
  json header;
  std::string tensors;
  const auto add = [&](const std::string& name, const std::vector<float>& values, std::vector<std::size_t> shape) {
    const std::size_t begin = tensors.size();
    tensors.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    header[name] = {{"dtype", "F32"}, {"shape", std::move(shape)}, {"data_offsets", {begin, tensors.size()}}};
  };
  auto& metadata = header["__metadata__"];
  json activations = json::array();
  const auto& network = std::get<Network>(model.function);
  validate(network);
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    add(weight_name(i), layer.weight, {layer.outputs, layer.inputs});
    add(bias_name(i), layer.bias, {layer.outputs});
    activations.push_back(name_of(layer.activation));
  }
  metadata = {{"format", kFormat},
              {"version", std::to_string(kVersion)},
              {"form", "network"},
              {"activations", activations.dump()},
              {"method", model.record.method},
              {"seed", std::to_string(model.record.seed)},
              {"samples", std::to_string(model.record.samples)},
              {"data", model.record.data},
              {"program", model.record.program},
              {"options", json(model.record.options).dump()},
              {"checksum", kNoChecksum}};
  // Invalid UTF-8 in a file's name must not stop a model from being saved.
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');  // tensors start on a multiple of 8

  const std::uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), kLengthBytes);
  bytes += text;
  bytes += tensors;
  const std::uint64_t sum = checksum(std::as_bytes(std::span(bytes)));
  bytes.replace(kLengthBytes + text.find(kChecksumKey) + kChecksumKey.size(), kNoChecksum.size(), hex(sum));
  return bytes;
}

Model parse_model(std::string_view bytes, const std::string& name) { return Parser(bytes, name).parse(); }

bool looks_like_model(std::string_view head) {
  constexpr std::string_view kStart = "{\"__metadata__\"";  // JSON objects are written with sorted keys
  return head.size() > kLengthBytes && head.substr(kLengthBytes).starts_with(kStart);
}

void save_model(const Model& model, const std::string& path) {
  OutputFile file(path);
  file.write(serialize_model(model));
  file.commit();
}

Model load_model(const std::string& path) { return parse_model(read_whole_file(path, kMaxFile), path); }

std::string fingerprint(const Model& model) {
  const std::string bytes = serialize_model(model);
  const auto at = bytes.find(kChecksumKey) + kChecksumKey.size();
  return bytes.substr(at, kNoChecksum.size());
}

}  // namespace bdnn
