// Features of samples as bytes: what decision trees learn from.
//
// Every feature has up to 255 thresholds t_0 < t_1 < ...; the bin of a value is the number of thresholds below it, so
//
//     bin > b   exactly if   value > t_b,
//
// and a tree learned from bins gives the same outputs for the values themselves. A feature with at most 256 different
// values has a bin for each, one with more has bins of about as many samples.
#pragma once

#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "bdnn/vectors.h"

namespace bdnn {

class BinnedFeatures {
 public:
  // Memory: a byte per value. Thresholds follow from at most 8,192 samples, evenly spread. All values must be finite.
  BinnedFeatures(const Vectors& x, Threads& threads);

  std::size_t samples() const { return samples_; }
  std::size_t dimension() const { return thresholds_.size(); }

  const std::uint8_t* bins(std::size_t feature) const { return bins_.data() + feature * samples_; }
  const std::vector<float>& thresholds(std::size_t feature) const { return thresholds_[feature]; }
  // The features that have a threshold, ascending: those that are not constant.
  const std::vector<std::uint32_t>& varying() const { return varying_; }

 private:
  std::size_t samples_;
  std::vector<std::vector<float>> thresholds_;
  std::vector<std::uint32_t> varying_;
  std::vector<std::uint8_t> bins_;  // feature after feature
};

}  // namespace bdnn
