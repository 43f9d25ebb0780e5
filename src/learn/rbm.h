// Restricted Boltzmann machines, trained by contrastive divergence (Hinton, Neural Computation 2002).
//
// Visible units v and logistic hidden units h with the energy
//
//     E(v, h) = -h^T W v - c^T h + sum_i e(v_i)
//
// where e(v) = -b_i v for v in {0,1} (or probabilities), and e(v) = (v - b_i)^2 / 2 for Gaussian v of variance 1. So
//
//     p(h = 1 | v) = sigmoid(W v + c),   E(v | h) = sigmoid(W^T h + b), or W^T h + b.
#pragma once

#include <cstddef>
#include <vector>

#include "base/random.h"
#include "base/threads.h"

namespace bdnn {

enum class VisibleUnits { logistic, gaussian };

struct Rbm {
  std::size_t visible = 0;
  std::size_t hidden = 0;
  std::vector<float> w = {};  // hidden x visible, column-major
  std::vector<float> c = {};  // of the hidden units
  std::vector<float> b = {};  // of the visible units

  // Normal weights of the given standard deviation, biases of zero.
  Rbm(std::size_t visible_units, std::size_t hidden_units, double deviation, Random& random);
};

struct DivergenceOptions {
  VisibleUnits units = VisibleUnits::logistic;
  double momentum = 0.9;
  double decay = 2e-4;  // of the weights
};

// Steps along <h v^T>_data - <h v^T>_reconstruction, where the reconstruction is one step of Gibbs sampling away from
// the data: hidden units are drawn from their probabilities given the data; what they give, and the hidden units after
// that, stay probabilities.
class ContrastiveDivergence {
 public:
  ContrastiveDivergence(Rbm& rbm, const DivergenceOptions& options, Threads& threads);

  // A step on the samples v (visible x samples); which hidden units are on depends on `random` alone. Returns the mean
  // over samples of the squared error of the reconstruction.
  double step(const float* v, std::size_t samples, double rate, Random& random);

 private:
  Rbm& rbm_;
  DivergenceOptions options_;
  Threads& threads_;
  std::vector<float> w_speed_;
  std::vector<float> c_speed_;
  std::vector<float> b_speed_;
  std::vector<float> hidden_;        // probabilities given the data
  std::vector<float> rebuilt_;       // v of the reconstruction
  std::vector<float> minus_hidden_;  // probabilities given that, negative
};

}  // namespace bdnn
