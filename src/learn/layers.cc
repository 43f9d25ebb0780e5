#include "learn/layers.h"

#include "base/blocks.h"
#include "linalg/activation.h"
#include "linalg/matrix.h"

namespace bdnn {

LayerSizes::LayerSizes(std::vector<std::size_t> units, Path path) : units_(std::move(units)), offsets_{0}, path_(path) {
  for (std::size_t l = 0; l < count(); ++l) offsets_.push_back(offsets_.back() + (inputs(l) + 1) * outputs(l));
}

LayerSizes layers_below(std::size_t l, const LayerSizes& sizes) {
  std::vector<std::size_t> units;
  for (std::size_t k = 0; k <= l; ++k) units.push_back(sizes.inputs(k));
  return LayerSizes(units);
}

Network to_network(const LayerSizes& sizes, const std::vector<float>& parameters, const VectorXd& offset, double factor,
                   const LayerActivations& activations) {
  Network network;
  for (std::size_t l = 0; l < sizes.count(); ++l) {
    Layer layer;
    layer.inputs = sizes.inputs(l);
    layer.outputs = sizes.outputs(l);
    layer.activation = activations.of(l, sizes);
    MatrixXd weight = view(parameters.data() + sizes.weights(l), layer.outputs, layer.inputs).cast<double>();
    VectorXd bias = view(parameters.data() + sizes.biases(l), layer.outputs, 1).cast<double>();
    if (l == 0) {
      weight *= factor;
      bias -= weight.cast<float>().cast<double>() * offset;
    }
    layer.weight.resize(layer.inputs * layer.outputs);
    Eigen::Map<RowMajorXf>(layer.weight.data(), weight.rows(), weight.cols()) = weight.cast<float>();
    layer.bias.resize(layer.outputs);
    view(layer.bias.data(), layer.outputs, 1) = bias.cast<float>();
    network.layers.push_back(std::move(layer));
  }
  if (sizes.has_linear_path()) {
    const MatrixXf weight =
        (view(parameters.data() + sizes.linear_path(), sizes.bits(), sizes.dimension()).cast<double>() * factor)
            .cast<float>();
    network.linear.resize(static_cast<std::size_t>(weight.size()));
    Eigen::Map<RowMajorXf>(network.linear.data(), weight.rows(), weight.cols()) = weight;
    auto bias = view(network.layers.back().bias.data(), sizes.bits(), 1);
    bias = (bias.cast<double>() - weight.cast<double>() * offset).cast<float>();
  }
  return network;
}

template <class T>
LayerStack<T>::LayerStack(const LayerSizes& sizes, const T* parameters, const LayerActivations& activations)
    : sizes_(sizes), activations_(activations) {
  for (std::size_t l = 0; l < sizes.count(); ++l) {
    const std::size_t in = sizes.inputs(l);
    const std::size_t out = sizes.outputs(l);
    const T* w = parameters + sizes.weights(l);
    layers_.push_back({PackedMatrix<T>::from_columns(w, out, in, out),
                       l == 0 ? PackedMatrix<T>() : PackedMatrix<T>::from_rows(w, in, out, out),
                       parameters + sizes.biases(l)});
  }
  if (sizes.has_linear_path()) {
    linear_ =
        PackedMatrix<T>::from_columns(parameters + sizes.linear_path(), sizes.bits(), sizes.dimension(), sizes.bits());
  }
}

template <class T>
void LayerStack<T>::forward(const T* x, std::size_t count, const std::vector<T*>& h) const {
  std::vector<T> beside;
  if (sizes_.has_linear_path()) {
    beside.resize(sizes_.bits() * count);
    multiply(linear_, x, count, sizes_.dimension(), beside.data(), sizes_.bits());
  }
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    forward(l, x, count, nullptr, h[l]);
    x = h[l];
  }
  for (std::size_t i = 0; i < beside.size(); ++i) h.back()[i] += beside[i];
}

template <class T>
void LayerStack<T>::forward(std::size_t layer, const T* x, std::size_t count, const T* noise, T* h) const {
  const std::size_t out = sizes_.outputs(layer);
  const T* bias = layers_[layer].bias;
  multiply(layers_[layer].weight, x, count, sizes_.inputs(layer), h, out);
  if (noise != nullptr) {
    for (std::size_t i = 0; i < count * out; ++i) h[i] += noise[i];
  }
  switch (activations_.of(layer, sizes_)) {
    case Activation::sigmoid: return add_bias_and_squash(bias, out, count, h);
    case Activation::tanh: return add_bias_and_tanh(bias, out, count, h);
    default: return add_bias(bias, out, count, h);
  }
}

template <class T>
void LayerStack<T>::back_through_function(std::size_t layer, const T* h, std::size_t count, T* delta) const {
  const std::size_t size = count * sizes_.outputs(layer);
  switch (activations_.of(layer, sizes_)) {
    case Activation::sigmoid: return through_sigmoid(h, size, delta);
    case Activation::tanh: return through_tanh(h, size, delta);
    default: return;
  }
}

template <class T>
void LayerStack<T>::back_through_weights(std::size_t layer, const T* delta, std::size_t count, T* below) const {
  multiply(layers_[layer].transposed, delta, count, sizes_.outputs(layer), below, sizes_.inputs(layer));
}

template <class T>
Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> LayerStack<T>::outputs(const TrainingSet& set,
                                                                        Threads& threads) const {
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> result(sizes_.bits(), set.size());
  const std::size_t tile = samples_per_tile(sizes_.dimension());
  threads.for_each(blocks_of(set.size()), [&](std::size_t block, int) {
    const Range range = block_range(block, set.size());
    std::vector<T> x(tile * sizes_.dimension());
    std::vector<std::vector<T>> h(sizes_.count());
    std::vector<T*> pointers;
    for (std::size_t l = 0; l < sizes_.count(); ++l) {
      h[l].resize(tile * sizes_.outputs(l));
      pointers.push_back(h[l].data());
    }
    for_each_tile(range, tile, [&](std::size_t first, std::size_t count) {
      set.load(first, count, x.data());
      forward(x.data(), count, pointers);
      std::copy_n(h.back().data(), count * sizes_.bits(), result.data() + first * sizes_.bits());
    });
  });
  return result;
}

template <class T>
void LayerStack<T>::backward(const T* x, std::size_t count, const std::vector<T*>& h, std::vector<T>& delta,
                             std::vector<T>& scratch, T* gradient) const {
  back_through_function(layers_.size() - 1, h.back(), count, delta.data());
  if (sizes_.has_linear_path()) {
    const std::size_t bits = sizes_.bits();
    add_product_transposed(delta.data(), bits, bits, x, sizes_.dimension(), sizes_.dimension(), count,
                           gradient + sizes_.linear_path(), bits);
  }
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const std::size_t in = sizes_.inputs(l);
    const std::size_t out = sizes_.outputs(l);
    add_product_transposed(delta.data(), out, out, l == 0 ? x : h[l - 1], in, in, count, gradient + sizes_.weights(l),
                           out);
    T* bias = gradient + sizes_.biases(l);
    for (std::size_t j = 0; j < count; ++j) add_bias(delta.data() + j * out, out, 1, bias);
    if (l == 0) return;
    scratch.resize(in * count);
    back_through_weights(l, delta.data(), count, scratch.data());
    back_through_function(l - 1, h[l - 1], count, scratch.data());
    delta.swap(scratch);
  }
}

template class LayerStack<float>;
template class LayerStack<double>;

}  // namespace bdnn
