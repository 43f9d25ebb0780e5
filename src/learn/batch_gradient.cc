#include "learn/batch_gradient.h"

#include <algorithm>
#include <numeric>

#include "linalg/activation.h"

namespace bdnn {
namespace {

// Samples that a thread takes at a time: whole tiles of columns in the product kernels.
constexpr std::size_t kPiece = 56;
// Columns of a layer's gradient that a thread takes at a time.
constexpr std::size_t kColumns = 96;

std::size_t pieces_of(std::size_t count, std::size_t piece) { return (count + piece - 1) / piece; }

}  // namespace

ShuffledBatches::ShuffledBatches(const TrainingSet& set, std::size_t wanted, Random& random, Threads& threads)
    : set_(set),
      random_(random),
      threads_(threads),
      batches_(std::max<std::size_t>(1, (set.size() + wanted / 2) / wanted)),
      order_(set.size()) {
  std::iota(order_.begin(), order_.end(), 0U);
}

void ShuffledBatches::next() {
  const std::size_t samples = order_.size();
  const std::size_t b = number_++ % batches_;
  for (std::size_t i = b == 0 ? samples : 0; i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
  first_ = samples * b / batches_;
  size_ = samples * (b + 1) / batches_ - first_;
  x_.resize(size_ * set_.dimension());
  threads_.for_each(pieces_of(size_, kPiece), [&](std::size_t piece, int) {
    const std::size_t from = piece * kPiece;
    set_.load(order_.data() + first_ + from, std::min(kPiece, size_ - from), x_.data() + from * set_.dimension());
  });
}

template <class T>
BatchGradient<T>::BatchGradient(const LayerSizes& sizes, const LayerActivations& activations, Threads& threads)
    : sizes_(sizes), activations_(activations), threads_(threads), h_(sizes.count()), delta_(sizes.count()) {}

template <class T>
const T* BatchGradient<T>::forward(const T* parameters, const T* x, std::size_t samples, const Noise* noise) {
  stack_.emplace(sizes_, parameters, activations_);
  x_ = x;
  samples_ = samples;
  for (std::size_t l = 0; l < sizes_.count(); ++l) h_[l].resize(sizes_.outputs(l) * samples);
  threads_.for_each(pieces_of(samples, kPiece), [&](std::size_t piece, int) {
    const std::size_t first = piece * kPiece;
    const std::size_t count = std::min(kPiece, samples - first);
    const T* inputs = x + first * sizes_.dimension();
    for (std::size_t l = 0; l < sizes_.count(); ++l) {
      const std::size_t at = first * sizes_.outputs(l);
      const bool noisy = noise != nullptr && noise->layer == l;
      stack_->forward(l, inputs, count, noisy ? noise->values + at : nullptr, h_[l].data() + at);
      inputs = h_[l].data() + at;
    }
  });
  return h_.back().data();
}

template <class T>
double BatchGradient<T>::backward(const Loss& loss, T* gradient) {
  const std::size_t layers = sizes_.count();
  for (std::size_t l = 0; l < layers; ++l) delta_[l].resize(h_[l].size());
  std::vector<double> losses(pieces_of(samples_, kPiece));
  threads_.for_each(losses.size(), [&](std::size_t piece, int) {
    const std::size_t first = piece * kPiece;
    const std::size_t count = std::min(kPiece, samples_ - first);
    const auto at = [&](std::vector<std::vector<T>>& of, std::size_t l) {
      return of[l].data() + first * sizes_.outputs(l);
    };
    losses[piece] = loss(first, count, at(h_, layers - 1), at(delta_, layers - 1));
    for (std::size_t l = layers; l-- > 0;) {
      stack_->back_through_function(l, at(h_, l), count, at(delta_, l));
      if (l > 0) stack_->back_through_weights(l, at(delta_, l), count, at(delta_, l - 1));
    }
  });

  struct Columns {
    std::size_t layer;
    std::size_t first;
  };
  std::vector<Columns> strips;
  for (std::size_t l = 0; l < layers; ++l) {
    for (std::size_t first = 0; first < sizes_.inputs(l); first += kColumns) strips.push_back({l, first});
  }
  threads_.for_each(strips.size(), [&](std::size_t i, int) {
    const auto [l, first] = strips[i];
    const std::size_t in = sizes_.inputs(l);
    const std::size_t out = sizes_.outputs(l);
    const std::size_t columns = std::min(kColumns, in - first);
    T* strip = gradient + sizes_.weights(l) + first * out;
    std::fill_n(strip, columns * out, T{0});
    add_product_transposed(delta_[l].data(), out, out, (l == 0 ? x_ : h_[l - 1].data()) + first, columns, in, samples_,
                           strip, out);
    if (first > 0) return;
    T* bias = gradient + sizes_.biases(l);
    std::fill_n(bias, out, T{0});
    for (std::size_t j = 0; j < samples_; ++j) add_bias(delta_[l].data() + j * out, out, 1, bias);
  });
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

template class BatchGradient<float>;
template class BatchGradient<double>;

}  // namespace bdnn
