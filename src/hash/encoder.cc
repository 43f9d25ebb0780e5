#include "hash/encoder.h"

#include <algorithm>
#include <cmath>

#include "codes/hamming.h"

namespace bdnn {
namespace {

// h = f(h + bias), column by column.
void finish_layer(const std::vector<float>& bias, Activation activation, std::size_t count, float* h) {
  const std::size_t rows = bias.size();
  for (std::size_t j = 0; j < count; ++j, h += rows) {
    for (std::size_t i = 0; i < rows; ++i) h[i] += bias[i];
    if (activation == Activation::sigmoid) {
      for (std::size_t i = 0; i < rows; ++i) h[i] = 1.0F / (1.0F + std::exp(-h[i]));
    }
  }
}

}  // namespace

Encoder::Encoder(const Network& network) {
  validate(network);
  dimension_ = network.layers.front().inputs;
  bits_ = network.layers.back().outputs;
  for (const Layer& layer : network.layers) {
    layers_.push_back({PackedMatrix<float>::from_rows(layer.weight.data(), layer.outputs, layer.inputs, layer.inputs),
                       layer.bias, layer.activation});
  }
}

const float* Encoder::outputs(const float* x, std::size_t count, Scratch& scratch) const {
  std::size_t inputs = dimension_;
  std::size_t which = 0;
  for (const PackedLayer& layer : layers_) {
    const std::size_t rows = layer.bias.size();
    auto& h = scratch.layer[which];
    h.resize(rows * count);
    multiply(layer.weight, x, count, inputs, h.data(), rows);
    finish_layer(layer.bias, layer.activation, count, h.data());
    x = h.data();
    inputs = rows;
    which = 1 - which;
  }
  return x;
}

std::size_t Encoder::encode(const float* x, std::size_t count, Scratch& scratch, std::uint8_t* codes) const {
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

Encoder make_encoder(const Model& model) {
  return std::visit([](const Network& network) { return Encoder(network); }, model.function);
}

}  // namespace bdnn
