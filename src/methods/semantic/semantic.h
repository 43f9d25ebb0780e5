// Semantic Hashing (Salakhutdinov and Hinton, 2007 and 2009).
//
// A stack of restricted Boltzmann machines, D -> s_1 -> ... -> L, is trained greedily by contrastive divergence, each
// on the probabilities of the hidden units of the one before. Unrolled, it is an autoencoder, which is fine-tuned to
// rebuild the samples,
//
//     min over W, c of  (1/m) sum_i  loss(x_i, decoder(sigmoid(z_i + n_i))),   z_i = encoder(x_i),
//
// where the noise n_i, drawn from N(0, noise^2) once for each sample, can only be told from the code where z_i is far
// from zero: it makes the code layer's sigmoids nearly binary. The code is sgn(z - threshold).
//
// Vectors are either real numbers, centred and scaled to a mean variance of 1 (Gaussian visible units, and half the
// squared error as the loss), or scaled to [0, 1] as probabilities (logistic units, and cross-entropy).
#pragma once

#include <string>

#include "learn/rbm.h"
#include "methods/method.h"

namespace bdnn {

struct SemanticOptions {
  enum class Threshold {
    half,    // z = 0, where the sigmoid is one half
    median,  // of z over the training set: every bit is on for half of it
  };
  std::string hidden = "auto";
  VisibleUnits visible = VisibleUnits::gaussian;
  int first_steps = 1000;     // of contrastive divergence, for each machine
  double first_rate = 0.1;    // its learning rate; a hundredth of it for Gaussian visible units
  double momentum = 0.9;      // its momentum
  double first_decay = 2e-4;  // of the machines' weights
  int steps = 2000;           // of fine-tuning, by Adam
  double rate = 3e-3;         // of its first step; falls to zero along a cosine
  int batch = 100;
  double noise = 2;
  Threshold threshold = Threshold::half;
};

// The units of the two hidden layers for codes of L bits from vectors of dimension D: D each, but 64 to 200, and at
// least 2 L.
std::vector<std::size_t> semantic_hidden_units(std::size_t bits, std::size_t dimension);

Method semantic_method();

}  // namespace bdnn
