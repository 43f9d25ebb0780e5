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

// Batches in random order: every sample is seen once before one is seen again.
class ShuffledBatches {
 public:
  // Batches of about `wanted` samples, all of the same size but for one sample.
  ShuffledBatches(const TrainingSet& set, std::size_t wanted, Random& random, Threads& threads);

  void next();
  std::size_t size() const { return size_; }
  std::span<const std::uint32_t> samples() const { return {order_.data() + first_, size_}; }  // places in the set
  const float* x() const { return x_.data(); }                                                // dimension x size()
  // How many different samples so many first batches hold.
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

// The way of a batch through a network and back. Threads share it by samples, and the gradient by weights: nothing is
// summed over threads, so their number changes nothing. Memory: two values per sample of the batch and unit.
template <class T>
class BatchGradient {
 public:
  BatchGradient(const LayerSizes& sizes, const LayerActivations& activations, Threads& threads);
  BatchGradient(const BatchGradient&) = delete;
  BatchGradient& operator=(const BatchGradient&) = delete;

  // Added to what the function of a layer sees: outputs(layer) x samples.
  struct Noise {
    std::size_t layer;
    const T* values;
  };

  // What the last layer gives for the samples x (dimension x samples), which must outlive the way back: bits x samples.
  const T* forward(const T* parameters, const T* x, std::size_t samples, const Noise* noise = nullptr);

  // The loss of samples [first, first + count) of the batch, given what the last layer gives for them (bits x count):
  // returns their sum and sets `delta` to its derivative, laid out as h. Called from several threads.
  using Loss = std::function<double(std::size_t first, std::size_t count, const T* h, T* delta)>;

  // The sum of the losses of the samples that went forward, and its gradient, laid out as the parameters.
  double backward(const Loss& loss, T* gradient);

 private:
  LayerSizes sizes_;
  LayerActivations activations_;
  Threads& threads_;
  std::optional<LayerStack<T>> stack_;
  const T* x_ = nullptr;
  std::size_t samples_ = 0;
  std::vector<std::vector<T>> h_;      // what the layers give
  std::vector<std::vector<T>> delta_;  // the derivative by what their functions see
};

extern template class BatchGradient<float>;
extern template class BatchGradient<double>;

}  // namespace bdnn
