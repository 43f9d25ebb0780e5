#include "search/collector.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace bdnn {
namespace {

constexpr std::size_t kSlack = 4096;  // stale candidates that are tolerated before they are swept out

bool by_row(const Hit& a, const Hit& b) { return a.row < b.row; }

}  // namespace

void Collector::start(const Question& question, std::size_t bits, Arrival arrival, const RowFilter& filter,
                      std::size_t within) {
  k_ = question.radius ? std::numeric_limits<std::size_t>::max() : question.k;
  within_ = within;
  worst_ = bits;
  found_ = 0;
  below_ = static_cast<std::uint32_t>(std::min(question.radius.value_or(within), bits) + 1);
  arrival_ = arrival;
  filter_ = filter;
  counts_.assign(bits + 1, 0);
  candidates_.clear();
  sorted_.clear();
}

std::uint32_t Collector::take(const Hit* hits, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Hit hit = hits[i];
    if (hit.distance >= below_ || hit.row >= filter_.rows) continue;
    if (filter_.restricts() && !filter_.has(hit.row)) continue;
    candidates_.push_back(hit);
    ++counts_[hit.distance];
    ++found_;
    if (found_ < k_) continue;
    while (found_ - counts_[worst_] >= k_) found_ -= counts_[worst_--];
    below_ = static_cast<std::uint32_t>(worst_ + (arrival_ == Arrival::any ? 1 : 0));
  }
  if (found_ >= k_ && candidates_.size() > 4 * k_ + kSlack) drop_stale();
  return below_;
}

void Collector::drop_stale() {
  std::erase_if(candidates_, [&](const Hit& hit) { return hit.distance > worst_; });
  if (arrival_ == Arrival::ascending || candidates_.size() <= k_) return;
  // Of those as far as the k-th, the smallest rows are enough.
  const auto ties =
      std::partition(candidates_.begin(), candidates_.end(), [&](const Hit& hit) { return hit.distance < worst_; });
  const auto wanted = candidates_.begin() + static_cast<std::ptrdiff_t>(k_);
  std::nth_element(ties, wanted, candidates_.end(), by_row);
  candidates_.erase(wanted, candidates_.end());
  counts_[worst_] = static_cast<std::size_t>(candidates_.end() - ties);
  found_ = k_;
}

std::span<const Hit> Collector::finish() {
  drop_stale();
  // Stable, so that rows which came in ascending order stay so within a distance.
  std::size_t first = 0;
  for (auto& count : counts_) first += std::exchange(count, first);
  sorted_.resize(candidates_.size());
  for (const Hit& hit : candidates_) sorted_[counts_[hit.distance]++] = hit;
  if (arrival_ == Arrival::any) {
    for (auto from = sorted_.begin(); from != sorted_.end();) {
      const auto to = std::find_if(from, sorted_.end(), [&](const Hit& hit) { return hit.distance != from->distance; });
      std::sort(from, to, by_row);
      from = to;
    }
  }
  return std::span<const Hit>(sorted_).first(std::min(k_, sorted_.size()));
}

}  // namespace bdnn
