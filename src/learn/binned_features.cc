#include "learn/binned_features.h"

#include <algorithm>

#include "data/tiles.h"

namespace bdnn {
namespace {

constexpr std::size_t kBins = 256;
constexpr std::size_t kSamplesForThresholds = 8192;

// a <= threshold < b, in the middle if there is a float.
float between(float a, float b) {
  const float middle = 0.5F * a + 0.5F * b;
  return middle >= a && middle < b ? middle : a;
}

// A bin ends where it has its share of the values that are left.
std::vector<float> thresholds_of(std::vector<float>& values) {
  std::sort(values.begin(), values.end());
  std::size_t different = 1;
  for (std::size_t i = 1; i < values.size(); ++i) different += values[i] != values[i - 1] ? 1 : 0;
  std::vector<float> thresholds;
  std::size_t first = 0;  // of the values in the bin
  for (std::size_t i = 1; i < values.size() && thresholds.size() + 1 < kBins; ++i) {
    if (values[i] == values[i - 1]) continue;
    const std::size_t bins_left = kBins - thresholds.size();
    if (different > kBins && (i - first) * bins_left < values.size() - first) continue;
    thresholds.push_back(between(values[i - 1], values[i]));
    first = i;
  }
  return thresholds;
}

}  // namespace

BinnedFeatures::BinnedFeatures(const Vectors& x, Threads& threads)
    : samples_(x.size()), thresholds_(x.dimension()), bins_(x.size() * x.dimension()) {
  const std::size_t dimension = x.dimension();
  const std::size_t chosen = std::min(samples_, kSamplesForThresholds);
  // A few features at a time, so that each sample is read in runs.
  constexpr std::size_t kTogether = 16;
  threads.for_each((dimension + kTogether - 1) / kTogether, [&](std::size_t part, int) {
    const std::size_t first = part * kTogether;
    const std::size_t count = std::min(kTogether, dimension - first);
    std::vector<std::vector<float>> values(count);
    std::vector<float> scratch(dimension);
    for (std::size_t i = 0; i < chosen; ++i) {
      const float* sample = x.floats(i * samples_ / chosen, 1, scratch.data());
      for (std::size_t k = 0; k < count; ++k) values[k].push_back(sample[first + k]);
    }
    for (std::size_t k = 0; k < count; ++k) thresholds_[first + k] = thresholds_of(values[k]);
  });
  for (std::size_t d = 0; d < dimension; ++d) {
    if (!thresholds_[d].empty()) varying_.push_back(static_cast<std::uint32_t>(d));
  }
  for_each_tile_of(x, threads, [&](std::size_t first, std::size_t count, const float* samples, std::size_t) {
    for (const std::uint32_t d : varying_) {
      const std::vector<float>& thresholds = thresholds_[d];
      std::uint8_t* bins = bins_.data() + d * samples_ + first;
      for (std::size_t i = 0; i < count; ++i) {
        const auto above = std::lower_bound(thresholds.begin(), thresholds.end(), samples[i * dimension + d]);
        bins[i] = static_cast<std::uint8_t>(above - thresholds.begin());
      }
    }
  });
}

}  // namespace bdnn
