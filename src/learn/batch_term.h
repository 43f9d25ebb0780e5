// A term of the (W,c) step by Adam that is evaluated on each batch by itself, unlike those that are sums over samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace bdnn {

class BatchTerm {
 public:
  virtual ~BatchTerm() = default;
  // The samples of a batch of about `size`, by their places in the training set; empty: the term takes any.
  virtual std::vector<std::uint32_t> draw(std::size_t size, Random& random) const {
    (void)size, (void)random;
    return {};
  }
  // The term on the outputs h (bits x samples) of the samples at `places`; adds its derivative to `gradient`, laid out
  // as h.
  virtual double evaluate(const float* h, std::size_t bits, std::span<const std::uint32_t> places, float* gradient) = 0;
};

}  // namespace bdnn
