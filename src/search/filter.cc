#include "bdnn/index.h"
#include "search/content.h"

namespace bdnn {

Filter::Filter(const Index& index) : index_(index) {
  for (const Segment& segment : index_.content().segments) rows_.emplace_back((segment.size() + 63) / 64);
  counts_.resize(rows_.size());
}

void Filter::allow(std::size_t segment, std::size_t row) {
  std::uint64_t& word = rows_[segment][row / 64];
  const std::uint64_t bit = std::uint64_t{1} << row % 64;
  counts_[segment] += (word & bit) == 0 ? 1 : 0;
  word |= bit;
}

Filter::Filter(const Index& index, std::span<const std::uint64_t> ids) : Filter(index) {
  for (std::size_t s = 0; s < rows_.size(); ++s) {
    for (const std::uint64_t id : ids) {
      if (const auto row = index_.content().segments[s].keys.find(id)) allow(s, *row);
    }
  }
}

Filter::Filter(const Index& index, std::span<const std::string> names) : Filter(index) {
  for (std::size_t s = 0; s < rows_.size(); ++s) {
    for (const auto& name : names) {
      if (const auto row = index_.content().segments[s].keys.find(std::string_view(name))) allow(s, *row);
    }
  }
}

Filter Filter::from_bitmap(const Index& index, std::span<const std::uint8_t> bitmap) {
  Filter filter(index);
  for (std::size_t s = 0; s < filter.rows_.size(); ++s) {
    const KeyView& keys = filter.index_.content().segments[s].keys;
    for (std::size_t row = 0; row < keys.count && !keys.names(); ++row) {
      const std::uint64_t id = keys.id(row);
      if (id / 8 < bitmap.size() && ((bitmap[id / 8] >> id % 8) & 1) != 0) filter.allow(s, row);
    }
  }
  return filter;
}

bool Filter::fits(const Index& index) const { return &index_.content() == &index.content(); }

}  // namespace bdnn
