#include "methods/dh/dh_objective.h"

#include "linalg/activation.h"
#include "linalg/product.h"

namespace bdnn {

template <class T>
DhObjective<T>::DhObjective(const LayerSizes& sizes, const DhWeights& weights, Threads& threads)
    : sizes_(sizes), weights_(weights), pass_(sizes, kDhActivations, threads) {}

template <class T>
double DhObjective<T>::evaluate(const T* parameters, const T* x, std::size_t samples, T* gradient) {
  const double m = static_cast<double>(samples);
  const std::size_t bits = sizes_.bits();
  const T* outputs = pass_.forward(parameters, x, samples);
  std::vector<T> centre(bits, T{0});
  if (weights_.centred) {
    for (std::size_t i = 0; i < samples; ++i) add_bias(outputs + i * bits, bits, 1, centre.data());
    for (auto& value : centre) value /= static_cast<T>(m);
  }
  const auto per_sample = static_cast<T>(1 / m);
  const auto variance = static_cast<T>(weights_.variance);
  const auto loss = [&](std::size_t, std::size_t count, const T* h, T* delta) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i, h += bits, delta += bits) {
      for (std::size_t k = 0; k < bits; ++k) {
        const T gap = h[k] - (h[k] < 0 ? T{-1} : T{1});
        const T deviation = h[k] - centre[k];
        sum += static_cast<double>(gap * gap - variance * deviation * deviation) / 2;
        delta[k] = per_sample * (gap - variance * deviation);  // the centre's own share sums to zero
      }
    }
    return sum;
  };
  double j = pass_.backward(loss, gradient) / m;
  double squares = 0;
  for (std::size_t i = 0; i < sizes_.parameters(); ++i) {
    squares += static_cast<double>(parameters[i]) * static_cast<double>(parameters[i]);
    gradient[i] += static_cast<T>(weights_.decay) * parameters[i];
  }
  j += weights_.decay / 2 * squares;
  for (std::size_t l = 0; l < sizes_.count() && weights_.orthogonality > 0; ++l) {
    j += add_orthogonality(parameters + sizes_.weights(l), sizes_.outputs(l), sizes_.inputs(l),
                           gradient + sizes_.weights(l));
  }
  return j;
}

// alpha2/2 ||W W^T - I||^2; adds its derivative, 2 alpha2 (W W^T - I) W.
template <class T>
double DhObjective<T>::add_orthogonality(const T* w, std::size_t rows, std::size_t columns, T* gradient) const {
  std::vector<T> gap(rows * rows, T{0});
  add_product_transposed(w, rows, rows, w, rows, rows, columns, gap.data(), rows);
  double squares = 0;
  for (std::size_t i = 0; i < rows * rows; ++i) {
    if (i % (rows + 1) == 0) gap[i] -= 1;
    squares += static_cast<double>(gap[i]) * static_cast<double>(gap[i]);
  }
  const auto packed = PackedMatrix<T>::from_columns(gap.data(), rows, rows, rows);
  std::vector<T> product(rows * columns);
  multiply(packed, w, columns, rows, product.data(), rows);
  const auto factor = static_cast<T>(2 * weights_.orthogonality);
  for (std::size_t i = 0; i < product.size(); ++i) gradient[i] += factor * product[i];
  return weights_.orthogonality / 2 * squares;
}

template class DhObjective<float>;
template class DhObjective<double>;

}  // namespace bdnn
