#include "base/nearest_name.h"

#include <algorithm>
#include <vector>

namespace bdnn {
namespace {

// Edits that turn a into b (Damerau-Levenshtein, without edits of swapped letters).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> known) {
  constexpr std::size_t kLongest = 64;  // nobody mistypes longer ones; bounds the work on hostile input
  if (name.empty() || name.size() > kLongest) return "";
  std::string nearest;
  std::size_t fewest = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = candidate.size() > kLongest ? fewest : edits(name, candidate);
    if (distance >= fewest) continue;
    fewest = distance;
    nearest = candidate;
  }
  // Otherwise, an abbreviation or the full form: --mod for --model.
  for (const std::string& candidate : known) {
    constexpr std::size_t kTelling = 4;
    const std::size_t shorter = std::min(candidate.size(), name.size());
    if (!nearest.empty() || shorter < kTelling) continue;
    if (candidate.compare(0, shorter, name, 0, shorter) == 0) nearest = candidate;
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
  const std::string nearest = nearest_name(name, known);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace bdnn
