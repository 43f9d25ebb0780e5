// The objective of Deep Hashing on a batch of samples, and its gradient.
#pragma once

#include "learn/batch_gradient.h"

namespace bdnn {

struct DhWeights {
  double variance = 0;       // alpha1
  bool centred = true;       // whether the variance is about the mean
  double orthogonality = 0;  // alpha2
  double decay = 0;          // alpha3
};

// As dh.h writes it, for the layers' parameters; the batch stands for all samples.
template <class T>
class DhObjective {
 public:
  DhObjective(const LayerSizes& sizes, const DhWeights& weights, Threads& threads);

  // J on the samples x (dimension x samples); sets its gradient, laid out as the parameters, sgn(H) taken as constant.
  double evaluate(const T* parameters, const T* x, std::size_t samples, T* gradient);

 private:
  double add_orthogonality(const T* w, std::size_t rows, std::size_t columns, T* gradient) const;

  LayerSizes sizes_;
  DhWeights weights_;
  BatchGradient<T> pass_;
};

inline constexpr LayerActivations kDhActivations{Activation::tanh, Activation::tanh};

extern template class DhObjective<float>;
extern template class DhObjective<double>;

}  // namespace bdnn
