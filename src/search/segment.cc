#include "search/segment.h"

namespace bdnn {
namespace {

// The first row in [0, count) for which before(row) does not hold; it holds for all earlier ones.
template <class Before>
std::size_t first_not(std::size_t count, const Before& before) {
  std::size_t from = 0;
  while (count > 0) {
    const std::size_t half = count / 2;
    if (before(from + half)) {
      from += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return from;
}

}  // namespace

std::optional<std::size_t> KeyView::find(std::uint64_t id) const {
  if (names()) return std::nullopt;
  if (ids == nullptr) return id >= first && id - first < count ? std::optional<std::size_t>(id - first) : std::nullopt;
  const std::size_t row = first_not(count, [&](std::size_t i) { return ids[i] < id; });
  return row < count && ids[row] == id ? std::optional(row) : std::nullopt;
}

std::optional<std::size_t> KeyView::find(std::string_view wanted) const {
  if (!names()) return std::nullopt;
  const std::size_t row = first_not(count, [&](std::size_t i) { return name(i) < wanted; });
  return row < count && name(row) == wanted ? std::optional(row) : std::nullopt;
}

std::vector<Segment> as_segments(const Codes& codes, std::size_t most_rows) {
  std::vector<Segment> segments;
  std::size_t first = 0;
  do {
    Segment& segment = segments.emplace_back();
    const std::size_t count = std::min(most_rows, codes.size() - first);
    segment.codes = {CodeLayout(codes.bits()), count, nullptr, codes.data() + first * codes.bytes_per_code()};
    segment.keys.count = count;
    segment.keys.first = first;
    first += count;
  } while (first < codes.size());
  return segments;
}

}  // namespace bdnn
