// FastHash: supervised hashing with boosted decision trees (Lin, Shen, Shi, van den Hengel and Suter, CVPR 2014).
//
// Bit after bit, in two steps: the best bit of all training samples, given their labels and the bits before
// (bit_inference.h); then boosted trees that predict it (learn/tree_booster.h). The trees' predictions,
// mistakes included, are the bit that later bits build on.
#pragma once

#include "methods/fasthash/bit_inference.h"
#include "methods/method.h"

namespace bdnn {

struct FastHashOptions {
  int trees = 200;    // per bit
  int depth = 6;      // of each tree
  int features = 80;  // random features that each tree may use; at most the dimension
  double trim = 0.9;  // splits are chosen on the samples that carry this share of the weight
  PairLoss loss = PairLoss::hinge;
  // Samples of one class that share a code form a group (bit_inference.h). Up to this many groups, pairs of all samples
  // count; with more, pairs of this many random samples.
  int groups = 4096;
};

Method fasthash_method();

}  // namespace bdnn
