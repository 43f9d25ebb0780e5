#include "learn/split_search.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace bdnn {
namespace {

constexpr std::size_t kBins = 256;
using Histogram = std::array<std::uint64_t, kBins>;

// Features whose histograms are filled together: additions to one of them wait for each other where bins repeat.
constexpr std::size_t kTogether = 4;
using Histograms = std::array<Histogram, kTogether>;

void fill(const std::array<const std::uint8_t*, kTogether>& bins, const std::uint32_t* rows,
          const std::uint64_t* weights, std::size_t count, Histograms& histograms) {
  for (auto& histogram : histograms) histogram.fill(0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t row = rows[i];
    const std::uint64_t weight = weights[i];
    for (std::size_t k = 0; k < kTogether; ++k) histograms[k][bins[k][row]] += weight;
  }
}

// Lowers `split` to the best one of a feature, if that is better.
void improve(const Histogram& histogram, std::size_t thresholds, std::uint32_t feature, std::uint64_t total,
             Split& split) {
  std::uint64_t left = 0;
  for (std::size_t bin = 0; bin < thresholds; ++bin) {
    if (histogram[bin] == 0) continue;  // as good as the threshold before
    left += histogram[bin];
    const float loss = split_loss(left) + split_loss(total - left);
    if (loss < split.loss) split = {loss, feature, static_cast<std::uint8_t>(bin), true};
  }
}

}  // namespace

float split_loss(std::uint64_t packed) {
  const auto positive = static_cast<float>(static_cast<std::int32_t>(packed >> 32));
  const auto negative = static_cast<float>(static_cast<std::int32_t>(packed & 0xffffffffU));
  return std::sqrt(positive * negative);
}

std::vector<Split> best_splits(const BinnedFeatures& x, const NodeSamples& samples,
                               std::span<const std::uint32_t> features, Threads& threads) {
  const std::size_t nodes = samples.nodes();
  std::vector<std::uint64_t> totals(nodes, 0);
  std::vector<Split> best;
  for (std::size_t node = 0; node < nodes; ++node) {
    for (std::size_t i = samples.starts[node]; i < samples.starts[node + 1]; ++i) totals[node] += samples.weights[i];
    // A gain must exceed rounding errors.
    best.push_back({split_loss(totals[node]) * (1 - 1e-5F)});
  }
  const std::size_t parts = (features.size() + kTogether - 1) / kTogether;
  std::vector<Split> found(parts * nodes);
  threads.for_each(parts, [&](std::size_t part, int) {
    const std::size_t first = part * kTogether;
    const std::size_t count = std::min(kTogether, features.size() - first);
    std::array<const std::uint8_t*, kTogether> bins;
    for (std::size_t k = 0; k < kTogether; ++k) bins[k] = x.bins(features[first + std::min(k, count - 1)]);
    Histograms histograms;
    for (std::size_t node = 0; node < nodes; ++node) {
      Split split = best[node];
      const std::size_t start = samples.starts[node];
      if (split.loss > 0) {
        fill(bins, samples.rows.data() + start, samples.weights.data() + start, samples.starts[node + 1] - start,
             histograms);
        for (std::size_t k = 0; k < count; ++k) {
          const std::uint32_t feature = features[first + k];
          improve(histograms[k], x.thresholds(feature).size(), feature, totals[node], split);
        }
      }
      found[part * nodes + node] = split;
    }
  });
  for (std::size_t part = 0; part < parts; ++part) {
    for (std::size_t node = 0; node < nodes; ++node) {
      const Split& split = found[part * nodes + node];
      if (split.found && split.loss < best[node].loss) best[node] = split;
    }
  }
  return best;
}

}  // namespace bdnn
