// Gradients of losses that are sums over samples, for one batch of samples at a time.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/threads.h"
#include "learn/layers.h"

namespace bdnn {

// Batches in random order: every sample is seen once before any is seen again.
class ShuffledBatches {
 public:
  // Batches of about `wanted` samples, whose sizes differ by at most one.
  ShuffledBatches(const TrainingSet& set, std::size_t wanted, Random& random, Threads& threads);

  void next();
  std::size_t size() const { return size_; }
  std::span<const std::uint32_t> samples() const { return {order_.data() + first_, size_}; }  // places in the set
  const float* x() const { return x_.data(); }                                                // dimension x size()
  // The number of different samples in the first `batches` batches.
  std::size_t seen_in(std::size_t batches) const {
    return batches < batches_ ? order_.size() * batches / batches_ : order_.size();
  }

 private:
  const TrainingSet& set_;
  Random& random_;
  Threads& threads_;
  std::size_t batches_;  // in a pass over all samples
  std::size_t number_ = 0;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::vector<std::uint32_t> order_;
  std::vector<float> x_;
};

// Forward and backward passes of a batch through a network. Threads divide the samples, and the weights of the
// gradient: nothing is summed over threads, so results do not depend on their number. Memory: two values per sample of
// the batch and unit.
template <class T>
class BatchGradient {
 public:
  BatchGradient(const LayerSizes& sizes, const LayerActivations& activations, Threads& threads);
  BatchGradient(const BatchGradient&) = delete;
  BatchGradient& operator=(const BatchGradient&) = delete;

  // Added to the input of a layer's activation: outputs(layer) x samples.
  struct Noise {
    std::size_t layer;
    const T* values;
  };

  // The last layer's outputs for the samples x (dimension x samples), which must outlive backward(): bits x samples.
  const T* forward(const T* parameters, const T* x, std::size_t samples, const Noise* noise = nullptr);

  // The loss of samples [first, first + count) of the batch, given the last layer's outputs for them (bits x count):
  // returns their sum and sets `delta` to its derivative, laid out as h. Called from several threads.
  using Loss = std::function<double(std::size_t first, std::size_t count, const T* h, T* delta)>;

  // The sum of the losses of the samples of the last forward(), and its gradient, laid out as the parameters.
  double backward(const Loss& loss, T* gradient);

 private:
  LayerSizes sizes_;
  LayerActivations activations_;
  Threads& threads_;
  std::optional<LayerStack<T>> stack_;
  const T* x_ = nullptr;
  std::size_t samples_ = 0;
  std::vector<std::vector<T>> h_;      // the layers' outputs
  std::vector<std::vector<T>> delta_;  // the derivatives with respect to the activations' inputs
};

extern template class BatchGradient<float>;
extern template class BatchGradient<double>;

}  // namespace bdnn
