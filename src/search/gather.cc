#include "search/gather.h"

#include <algorithm>
#include <bit>

namespace bdnn {

void gather(const ScanSource& source, const RowFilter& filter, GatheredCodes& gathered) {
  auto& rows = gathered.rows;
  rows.clear();
  for (std::size_t word = 0; word * 64 < source.count; ++word) {
    for (std::uint64_t bits = filter.word(word); bits != 0; bits &= bits - 1) {
      const std::size_t row = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      if (row < source.count) rows.push_back(static_cast<std::uint32_t>(row));
    }
  }
  const CodeLayout& layout = source.layout;
  gathered.tiles.assign(layout.bytes(rows.size()), 0);
  constexpr std::size_t kAhead = 16;
  const std::size_t strip_bytes = layout.lanes * kLine;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) {
      const std::uint8_t* next = source.tiles + rows[i + kAhead] / layout.codes_per_strip() * strip_bytes;
      for (std::size_t at = 0; at < strip_bytes; at += kLine) __builtin_prefetch(next + at);
    }
    copy_code(layout, source.tiles, rows[i], gathered.tiles.data(), i);
  }
}

}  // namespace bdnn
