// Deep Hashing (Liong, Lu, Wang, Moulin and Zhou, CVPR 2015), the unsupervised method, DH.
//
// A network of tanh layers, h = tanh(W^(n) tanh(... tanh(W^(1) x + c^(1)) ...) + c^(n)), whose outputs should be near
// binary, vary widely, and be independent because the rows of every layer's weights are orthonormal:
//
//     J = 1/2m ||sgn(H) - H||^2 - alpha1/2m tr(H H^T)
//           + alpha2/2 sum_l ||W^(l) W^(l)^T - I||^2 + alpha3/2 sum_l (||W^(l)||^2 + ||c^(l)||^2)
//
// The code is sgn(H). In the gradient sgn(H) counts as constant. Solved by Adam on random batches, starting from
// orthonormal weights: principal directions first, then the leading units of each layer, rotated in the last one.
#pragma once

#include <string>

#include "methods/method.h"

namespace bdnn {

struct DhOptions {
  enum class Start {
    pca,      // a unit of the last layer is a principal direction
    rotated,  // these, by a random rotation
    itq,      // by the rotation of ITQ, for what the last hidden layer gives
  };
  std::string hidden = "auto";
  double variance = 0.1;       // alpha1
  bool centred = true;         // variance about the mean; false: tr(H H^T) as written
  double orthogonality = 100;  // alpha2
  double decay = 10;           // alpha3
  double spread = 0.1;         // mean variance of the first L principal components after scaling
  Start start = Start::rotated;
  int steps = 4000;
  int batch = 256;
  double rate = 2e-3;
};

// The units of the hidden layers for codes of L bits from data that varies in r directions, by the authors' sizes:
//   L <= 16: 60, 30; L = 32: 80, 50; L = 64: 100, 80; in between, between these; L > 64: 5 L / 4 + 20 and L + 16;
//   never more than r, nor fewer than L.
std::vector<std::size_t> dh_hidden_units(std::size_t bits, std::size_t directions);

Method dh_method();

}  // namespace bdnn
