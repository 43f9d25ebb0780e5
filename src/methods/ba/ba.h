// Binary autoencoder (Carreira-Perpinan and Raziperchikolaei, CVPR 2015).
//
// Learns the codes from which a linear decoder f rebuilds the samples best, among the codes that a linear hash function
// h can give. By the method of auxiliary coordinates, each sample has a code z of its own, which a growing penalty
// pulls towards the output of the hash function:
//
//     min over h, f, Z of  sum_i ||x_i - f(z_i)||^2 + mu ||z_i - h(x_i)||^2,   z_i in {0,1}^L
//
// Three steps take turns: Z, each code on its own, by trying all codes (few bits) or by flipping bits; f by least
// squares; h by a linear SVM for each bit. mu grows from turn to turn, until h gives every sample its code. What
// remains is a network of one affine layer.
#pragma once

#include "methods/method.h"

namespace bdnn {

struct BaOptions {
  enum class Start { pca, itq };
  Start start = Start::itq;  // where the first codes come from
  double mu = 0.01;          // of the first iteration; the unit is the data's variance, divided by the bits
  double growth = 2;         // of mu from one iteration to the next
  int iterations = 50;       // at most; it ends once h gives every sample its code, here after 10 or so
  double c = 100;            // weight of the SVMs' loss
  int newton_steps = 1;      // of the SVMs in one iteration, at most
  int cg_steps = 10;         // of conjugate gradients in one Newton step, at most
  int enumerate = 12;        // bits up to which the Z step tries all codes
  int local_search = 10;     // rounds of local search in the Z step, with more bits
};

Method ba_method();

}  // namespace bdnn
