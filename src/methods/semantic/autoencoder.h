// The loss of an autoencoder whose code layer is made to be binary by noise, and its gradient.
#pragma once

#include "learn/batch_gradient.h"
#include "learn/rbm.h"

namespace bdnn {

// Encoder and decoder as one network, D -> s_1 -> ... -> L -> ... -> s_1 -> D, whose hidden layers squash by the
// sigmoid. Noise is added to the inputs of the L units of the code.
template <class T>
class Autoencoder {
 public:
  Autoencoder(const LayerSizes& encoder, VisibleUnits units, Threads& threads);

  const LayerSizes& sizes() const { return sizes_; }

  // The mean loss over the samples x (D x samples), given noise (L x samples); sets its gradient. With z the last
  // layer's values, a sample's loss is the cross-entropy of sigmoid(z) for logistic units, 1/2 ||z - x||^2 for Gaussian
  // ones.
  double evaluate(const T* parameters, const T* x, const T* noise, std::size_t samples, T* gradient);

 private:
  VisibleUnits units_;
  std::size_t code_layer_;
  LayerSizes sizes_;
  BatchGradient<T> pass_;
};

extern template class Autoencoder<float>;
extern template class Autoencoder<double>;

}  // namespace bdnn
