#include "bdnn/model.h"

#include "base/error.h"
#include "codes/bit_groups.h"
#include "model/hash_encoder.h"

namespace bdnn {

std::size_t Model::dimension() const {
  return std::visit([](const Network& network) { return network.layers.empty() ? 0 : network.layers.front().inputs; },
                    function);
}

std::size_t Model::bits() const {
  return std::visit([](const Network& network) { return network.layers.empty() ? 0 : network.layers.back().outputs; },
                    function);
}

void validate(const Network& network) {
  if (network.layers.empty()) misuse("the network has no layers; train a model or load one");
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
}

void validate(const Model& model) {
  validate(std::get<Network>(model.function));
  if (!model.decoder) return;
  const Decoder& decoder = *model.decoder;
  if (!BitGroups::is_possible(model.bits(), decoder.group)) {
    misuse("the decoder takes {} bits in groups of {}; 1 is possible, 4 up to 2,048 bits, and 8 up to 256 bits",
           model.bits(), decoder.group);
  }
  if (decoder.inputs != BitGroups(model.bits(), decoder.group).features() || decoder.outputs != model.dimension() ||
      decoder.weight.size() != decoder.inputs * decoder.outputs || decoder.bias.size() != decoder.outputs) {
    misuse(
        "the decoder does not fit: {} inputs, {} outputs, {} weights, {} biases, for codes of {} bits in groups of {} "
        "and vectors of dimension {}",
        decoder.inputs, decoder.outputs, decoder.weight.size(), decoder.bias.size(), model.bits(), decoder.group,
        model.dimension());
  }
}

}  // namespace bdnn
