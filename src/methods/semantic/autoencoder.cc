#include "methods/semantic/autoencoder.h"

#include <cmath>

#include "linalg/activation.h"

namespace bdnn {
namespace {

LayerSizes unrolled(const LayerSizes& encoder) {
  std::vector<std::size_t> units;
  for (std::size_t l = 0; l < encoder.count(); ++l) units.push_back(encoder.inputs(l));
  for (std::size_t l = encoder.count(); l > 0; --l) units.push_back(encoder.outputs(l - 1));
  units.push_back(encoder.dimension());
  return LayerSizes(units);
}

}  // namespace

template <class T>
Autoencoder<T>::Autoencoder(const LayerSizes& encoder, VisibleUnits units, Threads& threads)
    : units_(units), code_layer_(encoder.count() - 1), sizes_(unrolled(encoder)), pass_(sizes_, {}, threads) {}

template <class T>
double Autoencoder<T>::evaluate(const T* parameters, const T* x, const T* noise, std::size_t samples, T* gradient) {
  const std::size_t dimension = sizes_.dimension();
  const auto per_sample = static_cast<T>(1 / static_cast<double>(samples));
  const std::vector<T> no_bias(dimension, T{0});
  const auto loss = [&](std::size_t first, std::size_t count, const T* z, T* delta) {
    const T* data = x + first * dimension;
    const std::size_t size = count * dimension;
    std::copy_n(z, size, delta);
    double sum = 0;
    if (units_ == VisibleUnits::gaussian) {
      for (std::size_t i = 0; i < size; ++i) {
        const T gap = z[i] - data[i];
        sum += static_cast<double>(gap * gap) / 2;
      }
    } else {
      add_bias_and_squash(no_bias.data(), dimension, count, delta);
      // -x log y - (1 - x) log(1 - y) is -x z - log(1 - y), where 1 - y = y e^-z.
      for (std::size_t i = 0; i < size; ++i) {
        const auto v = static_cast<double>(z[i]);
        sum += std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))) - static_cast<double>(data[i]) * v;
      }
    }
    for (std::size_t i = 0; i < size; ++i) delta[i] = per_sample * (delta[i] - data[i]);
    return sum;
  };
  const typename BatchGradient<T>::Noise at_code{code_layer_, noise};
  pass_.forward(parameters, x, samples, &at_code);
  return pass_.backward(loss, gradient) / static_cast<double>(samples);
}

template class Autoencoder<float>;
template class Autoencoder<double>;

}  // namespace bdnn
