#include "model/network_form.h"

#include "base/error.h"
#include "linalg/activation.h"

namespace bdnn {
namespace {

using Form = FormOf<Network>;

constexpr std::size_t kMaxLayers = 64;
constexpr Activation kActivations[] = {Activation::identity, Activation::sigmoid, Activation::tanh, Activation::cosine};

constexpr const char* kLinear = "linear.weight";
constexpr const char* kAfterLinear = "layers_after_linear";

std::string layer_name(std::size_t layer) { return fmt::format("layers.{}", layer); }

// The layer that the linear path is added to.
std::size_t path_layer(const Network& network) { return network.layers.size() - 1 - network.layers_after_linear; }

void apply(Activation activation, const std::vector<float>& bias, std::size_t count, float* h) {
  switch (activation) {
    case Activation::identity: return add_bias(bias.data(), bias.size(), count, h);
    case Activation::sigmoid: return add_bias_and_squash(bias.data(), bias.size(), count, h);
    case Activation::tanh: return add_bias_and_tanh(bias.data(), bias.size(), count, h);
    case Activation::cosine: return add_bias_and_cosine(bias.data(), bias.size(), count, h);
  }
}

}  // namespace

std::string_view name_of(Activation activation) {
  switch (activation) {
    case Activation::identity: return "identity";
    case Activation::sigmoid: return "sigmoid";
    case Activation::tanh: return "tanh";
    case Activation::cosine: return "cosine";
  }
  return "unknown";
}

std::size_t Form::dimension(const Network& network) {
  return network.layers.empty() ? 0 : network.layers.front().inputs;
}

std::size_t Form::bits(const Network& network) { return network.layers.empty() ? 0 : network.layers.back().outputs; }

void Form::validate(const Network& network) {
  if (network.layers.empty()) misuse("the network has no layers; train a model or load one");
  if (network.layers.back().activation == Activation::sigmoid) {
    misuse("the network ends in a sigmoid, whose sign is always positive; end it in another activation");
  }
  std::size_t inputs = network.layers.front().inputs;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    if (layer.inputs != inputs || layer.weight.size() != layer.inputs * layer.outputs ||
        layer.bias.size() != layer.outputs || layer.weight.empty()) {
      misuse("layer {} of the network does not fit: {} inputs, {} outputs, {} weights, {} biases, after {} outputs", i,
             layer.inputs, layer.outputs, layer.weight.size(), layer.bias.size(), inputs);
    }
    inputs = layer.outputs;
  }
  if (network.layers_after_linear > 0 &&
      (network.linear.empty() || network.layers_after_linear >= network.layers.size())) {
    misuse("{} layers cannot follow the network's linear path, which has {} weights, in a network of {} layers",
           network.layers_after_linear, network.linear.size(), network.layers.size());
  }
  const std::size_t outputs = network.layers[path_layer(network)].outputs;
  if (!network.linear.empty() && network.linear.size() != dimension(network) * outputs) {
    misuse("the network's linear path has {} weights for {} inputs and {} outputs", network.linear.size(),
           dimension(network), outputs);
  }
}

std::vector<std::string> Form::describe(const Network& network) {
  std::vector<std::string> lines;
  if (network.unit_inputs) lines.emplace_back(kUnitInputsInWords);
  for (const Layer& layer : network.layers) {
    lines.push_back(fmt::format("{} -> {} {}", layer.inputs, layer.outputs, name_of(layer.activation)));
  }
  if (!network.linear.empty()) {
    lines.push_back(fmt::format(
        "{} -> {} linear, beside{}", dimension(network), network.layers[path_layer(network)].outputs,
        network.layers_after_linear == 0 ? ""
                                         : fmt::format(" all but the last {} layers", network.layers_after_linear)));
  }
  return lines;
}

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

void Form::write(const Network& network, TensorFileWriter& writer) {
  std::vector<std::string> activations;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    write_layer(writer, layer_name(i), network.layers[i]);
    activations.emplace_back(name_of(network.layers[i].activation));
  }
  writer.list("activations", activations);
  write_unit_inputs(network.unit_inputs, writer);
  if (network.linear.empty()) return;
  writer.needs_version(2);
  writer.tensor(kLinear, network.linear, {network.layers[path_layer(network)].outputs, dimension(network)});
  if (network.layers_after_linear == 0) return;
  writer.needs_version(3);
  writer.fact(kAfterLinear, std::to_string(network.layers_after_linear));
}

Network Form::read(const TensorFileReader& reader) {
  const std::vector<std::string> activations = reader.list("activations");
  if (activations.empty() || activations.size() > kMaxLayers) {
    reader.broken(fmt::format("has no list of 1 to {} activations", kMaxLayers));
  }
  Network network;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    Layer layer = read_layer(reader, layer_name(i));
    const auto* known = std::find_if(std::begin(kActivations), std::end(kActivations),
                                     [&](Activation activation) { return name_of(activation) == activations[i]; });
    if (known == std::end(kActivations)) {
      reader.broken(fmt::format("has an activation in layer {} that this program does not know", i));
    }
    layer.activation = *known;
    if (i > 0 && layer.inputs != network.layers.back().outputs) {
      reader.broken(fmt::format("has layers that do not fit together (layer {})", i));
    }
    network.layers.push_back(std::move(layer));
  }
  network.unit_inputs = read_unit_inputs(reader);
  if (reader.has_tensor(kLinear)) {
    std::vector<std::size_t> shape;
    network.linear = reader.floats(kLinear, 2, shape);
    if (reader.find_fact(kAfterLinear)) network.layers_after_linear = reader.number(kAfterLinear);
    if (network.layers_after_linear >= network.layers.size() ||
        shape[0] != network.layers[path_layer(network)].outputs || shape[1] != dimension(network)) {
      reader.broken("has a linear path that does not fit its layers");
    }
  }
  return network;
}

Form::Encoder::Encoder(const Network& network) : unit_inputs_(network.unit_inputs) {
  validate(network);
  for (const Layer& layer : network.layers) {
    layers_.push_back({PackedMatrix<float>::from_rows(layer.weight.data(), layer.outputs, layer.inputs, layer.inputs),
                       layer.bias, layer.activation});
  }
  if (!network.linear.empty()) {
    path_layer_ = path_layer(network);
    linear_ = PackedMatrix<float>::from_rows(network.linear.data(), network.layers[path_layer_].outputs,
                                             dimension(network), dimension(network));
  }
  squashed_ = unit_inputs_ || layers_.size() > 1 || layers_.back().activation != Activation::identity;
}

const float* Form::Encoder::outputs(const float* x, std::size_t count, EncoderScratch& scratch) const {
  if (unit_inputs_) x = scaled_to_unit_length(x, layers_.front().weight.depth(), count, scratch);
  const float* const inputs = x;
  std::size_t which = 0;
  for (const PackedLayer& layer : layers_) {
    const std::size_t rows = layer.bias.size();
    auto& h = scratch.layer[which];
    h.resize(rows * count);
    multiply(layer.weight, x, count, layer.weight.depth(), h.data(), rows);
    if (linear_.rows() > 0 && &layer == &layers_[path_layer_]) {
      // The other buffer held this layer's inputs, which are no longer needed.
      auto& beside = scratch.layer[1 - which];
      beside.resize(rows * count);
      multiply(linear_, inputs, count, linear_.depth(), beside.data(), rows);
      for (std::size_t i = 0; i < rows * count; ++i) h[i] += beside[i];
    }
    apply(layer.activation, layer.bias, count, h.data());
    x = h.data();
    which = 1 - which;
  }
  return x;
}

std::size_t Form::Encoder::encode(const float* x, std::size_t count, EncoderScratch& scratch,
                                  std::uint8_t* codes) const {
  return encode_signs(*this, x, layers_.front().weight.depth(), layers_.back().bias.size(), count, squashed_, scratch,
                      codes);
}

}  // namespace bdnn
