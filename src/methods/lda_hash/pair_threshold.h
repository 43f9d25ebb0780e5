// The threshold of one bit that best separates pairs of the same class from pairs of different classes.
#pragma once

#include <cstdint>
#include <span>

#include "learn/class_labels.h"

namespace bdnn {

struct PairThreshold {
  double threshold = 0;  // the bit is set from here on
  double errors =
      1;  // rate of false negatives (pairs of one class that differ) + of false positives (other pairs that agree)
};

// Over all pairs of labelled samples, exactly: `values` holds the projection of every sample, `stride` apart. With a_c
// of the n_c samples of class c below the threshold, a pair of one class is split a_c (n_c - a_c) times; both rates
// follow from these counts, which change by one from one sorted sample to the next. Of thresholds with the same errors,
// the one in the widest gap is taken. Costs a sort.
PairThreshold best_pair_threshold(const float* values, std::size_t stride, const ClassLabels& labels);

}  // namespace bdnn
