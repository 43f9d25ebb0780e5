#include "model/model_file.h"

#include "base/error.h"
#include "base/files.h"
#include "bdnn/codes.h"
#include "bdnn/version.h"
#include "codes/bit_groups.h"
#include "model/hash_encoder.h"
#include "model/tensor_file.h"

namespace bdnn {
namespace {

using nlohmann::json;

constexpr TensorFormat kFormat{"bdnn.model", "model", 1};
constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 34;
constexpr std::size_t kMaxLayers = 64;
const std::string kDecoder = "decoder";
const std::string kDecoderGroup = "decoder_group";

std::string_view name_of(Activation activation) { return activation == Activation::sigmoid ? "sigmoid" : "identity"; }

std::string layer_name(std::size_t layer) { return fmt::format("layers.{}", layer); }

void write_layer(TensorFileWriter& writer, const std::string& name, const Layer& layer) {
  writer.tensor(name + ".weight", layer.weight, {layer.outputs, layer.inputs});
  writer.tensor(name + ".bias", layer.bias, {layer.outputs});
}

Layer read_layer(const TensorFileReader& reader, const std::string& name) {
  Layer layer;
  std::vector<std::size_t> shape;
  layer.weight = reader.floats(name + ".weight", 2, shape);
  layer.outputs = shape[0];
  layer.inputs = shape[1];
  layer.bias = reader.floats(name + ".bias", 1, shape);
  if (shape[0] != layer.outputs) reader.broken(fmt::format("has weights and biases that do not fit ({})", name));
  return layer;
}

Network read_network(const TensorFileReader& reader) {
  Network network;
  const auto activations = json::parse(reader.fact("activations"), nullptr, false);
  if (!activations.is_array() || activations.empty() || activations.size() > kMaxLayers) {
    reader.broken(fmt::format("has no list of 1 to {} activations", kMaxLayers));
  }
  for (std::size_t i = 0; i < activations.size(); ++i) {
    Layer layer = read_layer(reader, layer_name(i));
    if (activations[i] == "sigmoid") {
      layer.activation = Activation::sigmoid;
    } else if (activations[i] != "identity") {
      reader.broken(fmt::format("has an activation in layer {} that this program does not know", i));
    }
    if (i > 0 && layer.inputs != network.layers.back().outputs) {
      reader.broken(fmt::format("has layers that do not fit together (layer {})", i));
    }
    network.layers.push_back(std::move(layer));
  }
  if (network.layers.back().activation != Activation::identity) {
    reader.broken("ends in a sigmoid, whose sign says nothing");
  }
  if (network.layers.back().outputs > kMaxBits) {
    reader.broken(fmt::format("gives codes of more than {} bits", kMaxBits));
  }
  return network;
}

TrainingRecord read_record(const TensorFileReader& reader) {
  TrainingRecord record;
  record.method = reader.fact("method");
  record.seed = reader.number("seed");
  record.samples = reader.number("samples");
  record.data = reader.fact("data");
  record.program = reader.fact("program");
  record.outcome = reader.find_fact("outcome").value_or("");
  const auto options = json::parse(reader.fact("options"), nullptr, false);
  if (!options.is_object()) reader.broken("has options that are no JSON object");
  for (const auto& [key, value] : options.items()) {
    if (!value.is_string()) reader.broken(fmt::format("has the option '{}' that is no string", key));
    record.options[key] = value.get<std::string>();
  }
  return record;
}

}  // namespace

std::string serialize_model(const Model& model) {
  validate(model);
  TensorFileWriter writer(kFormat);
  json activations = json::array();
  const auto& network = std::get<Network>(model.function);
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    write_layer(writer, layer_name(i), network.layers[i]);
    activations.push_back(name_of(network.layers[i].activation));
  }
  if (model.decoder) write_layer(writer, kDecoder, *model.decoder);
  if (model.decoder && model.decoder->group != 1) writer.fact(kDecoderGroup, std::to_string(model.decoder->group));
  writer.fact("form", "network");
  writer.fact("activations", activations.dump());
  writer.fact("method", model.record.method);
  writer.fact("seed", std::to_string(model.record.seed));
  writer.fact("samples", std::to_string(model.record.samples));
  writer.fact("data", model.record.data);
  writer.fact("program", model.record.program);
  writer.fact("options", json(model.record.options).dump());
  if (!model.record.outcome.empty()) writer.fact("outcome", model.record.outcome);
  return writer.finish();
}

Model parse_model(std::string_view bytes, const std::string& name) {
  const TensorFileReader reader(bytes, name, kFormat);
  Model model;
  const std::string form = reader.fact("form");
  if (form != "network") reader.broken(fmt::format("has the form '{}'; this program knows 'network'", form));
  model.function = read_network(reader);
  if (reader.has_tensor(kDecoder + ".weight")) {
    const std::optional<std::string> group = reader.find_fact(kDecoderGroup);
    model.decoder = Decoder{read_layer(reader, kDecoder), group ? reader.number(kDecoderGroup) : 1};
    if (!BitGroups::is_possible(model.bits(), model.decoder->group)) {
      reader.broken(
          fmt::format("has a decoder that takes {} bits in groups of {}", model.bits(), model.decoder->group));
    }
    if (model.decoder->inputs != BitGroups(model.bits(), model.decoder->group).features() ||
        model.decoder->outputs != model.dimension()) {
      reader.broken("has a decoder that does not fit its network");
    }
  }
  model.record = read_record(reader);
  return model;
}

bool looks_like_model(std::string_view head) { return looks_like_tensor_file(head); }

void save_model(const Model& model, OutputFile& file) {
  file.write(serialize_model(model));
  file.commit();
}

void save_model(const Model& model, const std::string& path) {
  OutputFile file(path);
  save_model(model, file);
}

Model load_model(const std::string& path) { return parse_model(read_whole_file(path, kMaxFile), path); }

std::string fingerprint(const Model& model) { return stated_checksum(serialize_model(model)); }

}  // namespace bdnn
