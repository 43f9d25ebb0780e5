#include "learn/order_statistic.h"

#include <algorithm>

namespace bdnn {
namespace {

constexpr std::size_t kSample = 1024;
constexpr std::size_t kMargin = 64;  // places in the sorted sample: four standard deviations of the median's place

float sort_and_take(std::vector<float>& values, std::size_t count, std::size_t rank) {
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(values.begin(), nth, values.begin() + static_cast<std::ptrdiff_t>(count));
  return *nth;
}

}  // namespace

float nth_smallest(const float* values, std::size_t count, std::size_t rank, std::vector<float>& scratch) {
  scratch.resize(std::max(count, kSample));
  if (count >= 4 * kSample) {
    const std::size_t step = count / kSample;
    for (std::size_t i = 0; i < kSample; ++i) scratch[i] = values[i * step];
    std::sort(scratch.begin(), scratch.begin() + kSample);
    const std::size_t place = std::min(rank / step, kSample - 1);
    const float least = scratch[place - std::min(place, kMargin)];
    const float most = scratch[std::min(place + kMargin, kSample - 1)];
    std::size_t below = 0;
    std::size_t within = 0;
    float* bracket = scratch.data();
    for (std::size_t i = 0; i < count; ++i) {  // without branches, which would be mispredicted
      const float value = values[i];
      const auto not_below = static_cast<std::size_t>(value >= least);
      bracket[within] = value;
      within += not_below & static_cast<std::size_t>(value <= most);
      below += 1 - not_below;
    }
    if (rank >= below && rank < below + within) return sort_and_take(scratch, within, rank - below);
  }
  std::copy_n(values, count, scratch.begin());  // few values, or a misleading sample
  return sort_and_take(scratch, count, rank);
}

}  // namespace bdnn
