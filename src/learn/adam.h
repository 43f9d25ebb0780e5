// The stochastic solver of the (W,c) step: Adam on small random batches.
#pragma once

#include "base/random.h"
#include "bdnn/progress.h"
#include "learn/batch_term.h"
#include "learn/objective.h"

namespace bdnn {

struct AdamOptions {
  int steps = 1000;
  int batch = 250;     // samples per step
  double rate = 1e-2;  // of the first step; falls to zero along a cosine
  double blend = 1;    // weight of a batch's sums over H in the running sums, which represent all samples
};

// Kingma and Ba's update, with their constants: moves the parameters against the gradient.
class Adam {
 public:
  explicit Adam(std::size_t parameters) : first_(parameters), second_(parameters) {}

  void step(const float* gradient, double rate, float* parameters, Threads& threads);

 private:
  std::vector<float> first_;   // running mean of the gradient
  std::vector<float> second_;  // and of its square
  int steps_ = 0;
};

// The rate of a step before which this share of all steps, in [0, 1), is done: falls from `first` to 0 along a cosine.
inline double falling_rate(double first, double done) { return first * 0.5 * (1 + portable_cos_turns(done / 2)); }

// Improves the parameters on random batches. Unless `term`, which may be null, draws the batches itself, every sample
// is seen once before any is seen again. Returns the mean of that term over the last tenth of the
// steps.
double minimise_adam(Objective<float>& objective, const TrainingSet& set, const LayerSizes& sizes,
                     const AdamOptions& options, BatchTerm* term, Random& random, Threads& threads, Progress& progress,
                     std::vector<float>& parameters);

}  // namespace bdnn
