#include "model/hash_encoder.h"

#include <algorithm>
#include <cmath>

#include "codes/hamming.h"
#include "linalg/activation.h"

namespace bdnn {

HashEncoder::HashEncoder(const Network& network) {
  validate(network);
  dimension_ = network.layers.front().inputs;
  bits_ = network.layers.back().outputs;
  for (const Layer& layer : network.layers) {
    layers_.push_back({PackedMatrix<float>::from_rows(layer.weight.data(), layer.outputs, layer.inputs, layer.inputs),
                       layer.bias, layer.activation});
  }
}

const float* HashEncoder::outputs(const float* x, std::size_t count, Scratch& scratch) const {
  std::size_t inputs = dimension_;
  std::size_t which = 0;
  for (const PackedLayer& layer : layers_) {
    const std::size_t rows = layer.bias.size();
    auto& h = scratch.layer[which];
    h.resize(rows * count);
    multiply(layer.weight, x, count, inputs, h.data(), rows);
    if (layer.activation == Activation::sigmoid) {
      add_bias_and_squash(layer.bias.data(), rows, count, h.data());
    } else {
      add_bias(layer.bias.data(), rows, count, h.data());
    }
    x = h.data();
    inputs = rows;
    which = 1 - which;
  }
  return x;
}

std::size_t HashEncoder::encode(const float* x, std::size_t count, Scratch& scratch, std::uint8_t* codes) const {
  if (layers_.size() > 1) {  // a sigmoid would make something finite of what is not
    const float* end = x + dimension_ * count;
    const float* bad = std::find_if(x, end, [](float v) { return !std::isfinite(v); });
    if (bad != end) return static_cast<std::size_t>(bad - x) / dimension_;
  }
  const float* h = outputs(x, count, scratch);
  if (pack_signs(h, bits_, count, codes)) return count;
  const float* end = h + bits_ * count;
  const float* bad = std::find_if(h, end, [](float v) { return !std::isfinite(v); });
  return static_cast<std::size_t>(bad - h) / bits_;
}

HashEncoder make_encoder(const Model& model) {
  return std::visit([](const Network& network) { return HashEncoder(network); }, model.function);
}

}  // namespace bdnn
