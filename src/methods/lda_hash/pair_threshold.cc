#include "methods/lda_hash/pair_threshold.h"

#include <algorithm>
#include <utility>

namespace bdnn {

PairThreshold best_pair_threshold(const float* values, std::size_t stride, const ClassLabels& labels) {
  std::vector<std::pair<float, std::int32_t>> sorted;
  sorted.reserve(labels.of.size());
  for (std::size_t i = 0; i < labels.of.size(); ++i) {
    if (labels.labelled(i)) sorted.emplace_back(values[i * stride], labels.of[i]);
  }
  std::sort(sorted.begin(), sorted.end());
  const auto m = static_cast<std::int64_t>(sorted.size());
  std::int64_t same_pairs = 0;
  for (const std::size_t size : labels.sizes) {
    same_pairs += static_cast<std::int64_t>(size) * (static_cast<std::int64_t>(size) - 1) / 2;
  }
  const std::int64_t different_pairs = m * (m - 1) / 2 - same_pairs;
  std::vector<std::int64_t> below(labels.classes, 0);
  std::int64_t same_split = 0;
  PairThreshold best;
  float widest = 0;
  for (std::int64_t i = 0; i + 1 < m; ++i) {
    const auto& [value, own] = sorted[static_cast<std::size_t>(i)];
    const auto c = static_cast<std::size_t>(own);
    same_split += static_cast<std::int64_t>(labels.sizes[c]) - 2 * below[c] - 1;
    ++below[c];
    const float next = sorted[static_cast<std::size_t>(i) + 1].first;
    if (!(next > value)) continue;
    const std::int64_t different_split = (i + 1) * (m - i - 1) - same_split;
    const double errors = static_cast<double>(same_split) / static_cast<double>(same_pairs) + 1 -
                          static_cast<double>(different_split) / static_cast<double>(different_pairs);
    if (errors > best.errors || (errors == best.errors && next - value <= widest)) continue;
    best = {0.5 * (static_cast<double>(value) + static_cast<double>(next)), errors};
    widest = next - value;
  }
  return best;
}

}  // namespace bdnn
