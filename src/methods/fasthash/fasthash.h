// FastHash: supervised hashing with boosted decision trees (Lin, Shen, Shi, van den Hengel and Suter, CVPR 2014).
//
// Bit after bit, in two steps: the best bit of all training samples, given their labels and the bits before
// (bit_inference.h); then boosted trees that predict it (learn/tree_booster.h). What the trees predict, mistakes
// included, is the bit that the next ones build on.
#pragma once

#include "methods/fasthash/bit_inference.h"
#include "methods/method.h"

namespace bdnn {

struct FastHashOptions {
  int trees = 200;    // per bit
  int depth = 6;      // of each tree
  int features = 80;  // that a tree may use, at random; no more than there are
  double trim = 0.9;  // samples that carry this share of the weight choose splits
  PairLoss loss = PairLoss::hinge;
  // Samples of one class that share a code form a group (bit_inference.h). Up to so many groups, pairs of all samples
  // count; beyond, those of as many random samples.
  int groups = 4096;
};

Method fasthash_method();

}  // namespace bdnn
