// A network in training: its parameters as one vector, and the forward and backward passes through its layers.
#pragma once

#include <cstddef>
#include <vector>

#include "base/threads.h"
#include "bdnn/model.h"
#include "learn/training_set.h"
#include "linalg/product.h"

namespace bdnn {

// The units of the layers, s_1 = D to the code's L, and the place of each layer's parameters in the vector:
// the weights W^(l) (s_{l+1} x s_l, column-major), then the biases c^(l).
// There may be a linear path beside the layers, A (L x D, column-major), whose A x is added to the last layer's
// outputs; its weights are at the end.
class LayerSizes {
 public:
  enum class Path { none, linear };
  explicit LayerSizes(std::vector<std::size_t> units, Path path = Path::none);

  std::size_t count() const { return units_.size() - 1; }  // of layers with weights
  std::size_t inputs(std::size_t layer) const { return units_[layer]; }
  std::size_t outputs(std::size_t layer) const { return units_[layer + 1]; }
  std::size_t dimension() const { return units_.front(); }
  std::size_t bits() const { return units_.back(); }
  std::size_t weights(std::size_t layer) const { return offsets_[layer]; }
  std::size_t biases(std::size_t layer) const { return offsets_[layer] + inputs(layer) * outputs(layer); }
  bool has_linear_path() const { return path_ == Path::linear; }
  std::size_t linear_path() const { return offsets_.back(); }
  std::size_t parameters() const { return offsets_.back() + (has_linear_path() ? dimension() * bits() : 0); }
  // Calls visit(begin, end, is_path) for the places of all weights, layer by layer; biases are left out.
  template <class Visit>
  void for_each_weights(const Visit& visit) const {
    for (std::size_t l = 0; l < count(); ++l) visit(weights(l), biases(l), false);
    if (has_linear_path()) visit(linear_path(), parameters(), true);
  }

 private:
  std::vector<std::size_t> units_;
  std::vector<std::size_t> offsets_;  // of each layer, and the end
  Path path_;
};

// The layers before layer l, as a network of their own.
LayerSizes layers_below(std::size_t l, const LayerSizes& sizes);

// The activations of the layers: identity, sigmoid or tanh.
struct LayerActivations {
  Activation hidden = Activation::sigmoid;  // of all layers but the last
  Activation last = Activation::identity;

  Activation of(std::size_t layer, const LayerSizes& sizes) const { return layer + 1 < sizes.count() ? hidden : last; }
};

// The network as a hash function of the vectors x, if it was trained on (x - offset) * factor.
Network to_network(const LayerSizes& sizes, const std::vector<float>& parameters, const VectorXd& offset, double factor,
                   const LayerActivations& activations = {});

// A network prepared for forward and backward passes; shared by all threads.
template <class T>
class LayerStack {
 public:
  // With a linear path, the last layer's activation must be the identity.
  LayerStack(const LayerSizes& sizes, const T* parameters, const LayerActivations& activations = {});

  const LayerSizes& sizes() const { return sizes_; }

  // h[l] = the outputs of layer l (outputs(l) x count), for all layers; x is dimension() x count.
  void forward(const T* x, std::size_t count, const std::vector<T*>& h) const;

  // One layer that no linear path is added to: h from the outputs of the previous layer. `noise`, if not null, is laid
  // out as h and added to the input of the layer's activation.
  void forward(std::size_t layer, const T* x, std::size_t count, const T* noise, T* h) const;

  // Backpropagation through one layer: from dJ/d(outputs) to the derivative by its activation's inputs, in place, given
  // its outputs h; and from there to dJ/d(inputs), for all layers but the first.
  void back_through_function(std::size_t layer, const T* h, std::size_t count, T* delta) const;
  void back_through_weights(std::size_t layer, const T* delta, std::size_t count, T* below) const;

  // The outputs of the last layer for all samples of the set: bits() x m.
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> outputs(const TrainingSet& set, Threads& threads) const;

  // Adds the gradient by the parameters to `gradient`, given dJ/dH of the last layer (bits() x count, in `delta`, which
  // is overwritten) and h as forward() left it.
  void backward(const T* x, std::size_t count, const std::vector<T*>& h, std::vector<T>& delta, std::vector<T>& scratch,
                T* gradient) const;

 private:
  struct Packed {
    PackedMatrix<T> weight;
    PackedMatrix<T> transposed;  // of all layers but the first, whose inputs need no gradient
    const T* bias;
  };
  const LayerSizes& sizes_;
  LayerActivations activations_;
  std::vector<Packed> layers_;
  PackedMatrix<T> linear_;
};

extern template class LayerStack<float>;
extern template class LayerStack<double>;

}  // namespace bdnn
