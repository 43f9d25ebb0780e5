#include "learn/class_samples.h"

#include <algorithm>
#include <map>

#include "base/random.h"
#include "data/format.h"

namespace bdnn {

std::vector<std::uint32_t> choose_per_class(std::span<const std::int64_t> labels, int per_class, std::uint64_t seed) {
  std::map<std::int64_t, std::vector<std::uint32_t>> classes;
  for (std::size_t i = 0; i < labels.size(); ++i) classes[labels[i]].push_back(static_cast<std::uint32_t>(i));
  Random random(seed);
  std::vector<std::uint32_t> rows;
  for (auto& [label, members] : classes) {
    const std::size_t wanted =
        label == -1 ? members.size() : std::min(members.size(), static_cast<std::size_t>(per_class));
    for (std::size_t i = 0; i < wanted; ++i) {
      std::swap(members[i], members[i + random.below(members.size() - i)]);
      rows.push_back(members[i]);
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

LabelledSamples labelled_samples(const Vectors& x, std::span<const std::int64_t> labels, int per_class,
                                 std::uint64_t seed, std::string_view method) {
  ClassLabels all = number_classes(labels, method);
  std::vector<std::uint32_t> rows = all.labelled_rows();
  if (per_class > 0) {
    rows = choose_per_class(labels, per_class, seed);
    std::erase_if(rows, [&](std::uint32_t row) { return !all.labelled(row); });
  }
  if (rows.size() == x.size()) return {x, std::move(all)};
  std::vector<std::int64_t> chosen;
  chosen.reserve(rows.size());
  for (const std::uint32_t row : rows) chosen.push_back(labels[row]);
  return {gather(x, rows), number_classes(chosen, method)};
}

}  // namespace bdnn
