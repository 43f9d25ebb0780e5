#include "codes/hamming_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codes/hamming_scan.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "codes/half_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class Lane>
using LineTag = hn::CappedTag<Lane, kLine / sizeof(Lane)>;

template <class Lane>
HWY_INLINE Lane lane_at(const std::uint8_t* from, std::size_t i) {
  Lane value;
  std::memcpy(&value, from + i * sizeof(Lane), sizeof(Lane));
  return value;
}

// Thresholds are at most bits + 1; a lane of 8 bits holds those of its codes.
template <class Lane>
HWY_INLINE Lane as_lane(std::uint32_t threshold) {
  return static_cast<Lane>(std::min<std::uint64_t>(threshold, std::numeric_limits<Lane>::max()));
}

// The distances of one vector of codes: `lines` points at lane 0 of the first of them, lane w is kLine * w farther.
template <class Lane, std::size_t kLanes, class D>
HWY_INLINE hn::Vec<D> distances_of(D d, const std::uint8_t* lines, std::size_t lanes, const std::uint8_t* query) {
  const std::size_t count = kLanes == 0 ? lanes : kLanes;
  auto sum = hn::PopulationCount(
      hn::Xor(hn::LoadU(d, reinterpret_cast<const Lane*>(lines)), hn::Set(d, lane_at<Lane>(query, 0))));
  for (std::size_t w = 1; w < count; ++w) {
    const auto code = hn::LoadU(d, reinterpret_cast<const Lane*>(lines + w * kLine));
    sum = hn::Add(sum, hn::PopulationCount(hn::Xor(code, hn::Set(d, lane_at<Lane>(query, w)))));
  }
  return sum;
}

// The smaller of two distances. 64-bit minima are slow; the upper halves of distances are zeros, so 32-bit ones do.
template <class D>
HWY_INLINE hn::Vec<D> nearer(D d, hn::Vec<D> a, hn::Vec<D> b) {
  if constexpr (sizeof(hn::TFromD<D>) == 8 && HWY_TARGET != HWY_SCALAR) {
    const hn::Repartition<std::uint32_t, D> d32;
    return hn::BitCast(d, hn::Min(hn::BitCast(d32, a), hn::BitCast(d32, b)));
  } else {
    return hn::Min(a, b);
  }
}

// The lanes of a mask as bits.
template <class D>
HWY_INLINE std::uint64_t bits_of(D d, hn::Mask<D> mask) {
  std::uint8_t bytes[8];
  hn::StoreMaskBits(d, mask, bytes);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, (hn::MaxLanes(d) + 7) / 8);  // no more than was stored, or it would have to wait
  return bits;
}

// Appends the codes whose bits are set: code i has row first_row + i and distance distances[i].
template <class Lane>
HWY_INLINE std::size_t append_hits(std::uint64_t bits, const Lane* distances, std::uint32_t first_row, Hit* hits) {
  std::size_t count = 0;
  for (; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(bits));
    hits[count++] = {first_row + i, static_cast<std::uint32_t>(distances[i])};
  }
  return count;
}

// Handles the hits of one query in one tile. Kept out of the fast loop, which needs its registers.
template <class Lane, std::size_t kLanes>
HWY_NOINLINE std::uint32_t report_tile(const std::uint8_t* tile, std::size_t lanes, std::uint32_t first_row,
                                       const ScanTask& task, HitSink sink) {
  const LineTag<Lane> d;
  constexpr std::size_t kStrip = kLine / sizeof(Lane);
  constexpr std::size_t kCodes = kStripsPerTile * kStrip;
  alignas(kLine) Lane distances[kCodes];
  std::uint64_t near[(kCodes + 63) / 64] = {};
  const auto below = hn::Set(d, as_lane<Lane>(task.below));
  for (std::size_t strip = 0; strip < kStripsPerTile; ++strip) {
    for (std::size_t at = 0; at < kStrip; at += hn::Lanes(d)) {
      const std::uint8_t* lines = tile + strip * lanes * kLine + at * sizeof(Lane);
      const auto values = distances_of<Lane, kLanes>(d, lines, lanes, task.query);
      const std::size_t i = strip * kStrip + at;
      hn::Store(values, d, distances + i);
      near[i / 64] |= bits_of(d, hn::Lt(values, below)) << i % 64;
    }
  }
  // One loop over all strips: most tiles have one hit.
  Hit hits[kCodes];
  std::size_t count = 0;
  for (std::size_t word = 0; word < std::size(near); ++word) {
    count +=
        append_hits(near[word], distances + 64 * word, static_cast<std::uint32_t>(first_row + 64 * word), hits + count);
  }
  return count == 0 ? task.below : sink(task.collector, hits, count);
}

// Finds the least distances of kQueries queries to the codes of some tiles; the queries share each load of codes.
// kLanes is the number of lanes of a code, 0 where only `lanes` knows. This one counts the bits of whole lanes.
template <class Lane, std::size_t kLanes, std::size_t kQueries>
class ByLanes {
 public:
  using Tag = LineTag<Lane>;

  ByLanes(const ScanTask* tasks, std::size_t lanes) : tasks_(tasks), any_lanes_(lanes) {}

  static HWY_INLINE hn::Vec<Tag> limit(std::uint32_t below) { return hn::Set(Tag(), as_lane<Lane>(below)); }

  // nearest[q] gets distances of which one is below limit(t) if and only if a code of the kTiles tiles is nearer than
  // t.
  template <std::size_t kTiles>
  HWY_INLINE void nearest_in(const std::uint8_t* tiles, hn::Vec<Tag>* nearest) const {
    const Tag d;
    const std::size_t strip_bytes = lanes() * kLine;
    for (std::size_t part = 0; part < kTiles * kLine; part += hn::Lanes(d) * sizeof(Lane)) {
      const std::uint8_t* tile = tiles + part / kLine * kStripsPerTile * strip_bytes + part % kLine;
      hn::Vec<Tag> sum[kQueries][kStripsPerTile];
      const auto differing = [&](std::size_t w, const auto& use) HWY_ATTR {
        const std::uint8_t* lines = tile + w * kLine;
        for (std::size_t strip = 0; strip < kStripsPerTile; ++strip) {
          const auto code = hn::LoadU(d, reinterpret_cast<const Lane*>(lines + strip * strip_bytes));
          for (std::size_t q = 0; q < kQueries; ++q) {
            use(sum[q][strip], hn::PopulationCount(hn::Xor(code, hn::Set(d, lane_at<Lane>(tasks_[q].query, w)))));
          }
        }
      };
      differing(0, [](auto& total, auto bits) HWY_ATTR { total = bits; });
      for (std::size_t w = 1; w < lanes(); ++w) {
        differing(w, [](auto& total, auto bits) HWY_ATTR { total = hn::Add(total, bits); });
      }
      for (std::size_t q = 0; q < kQueries; ++q) {
        const auto least = nearer(d, nearer(d, sum[q][0], sum[q][1]), nearer(d, sum[q][2], sum[q][3]));
        nearest[q] = part == 0 ? least : nearer(d, nearest[q], least);
      }
    }
  }

 private:
  HWY_INLINE std::size_t lanes() const { return kLanes == 0 ? any_lanes_ : kLanes; }

  const ScanTask* tasks_;
  std::size_t any_lanes_;
};

#if BDNN_COUNTS_HALF_BYTES
// The same by half bytes. One vector of codes at a time, so that sums stay in the registers, of which there are 16.
template <class Lane, std::size_t kLanes, std::size_t kQueries>
class ByHalfBytes {
 public:
  using Tag = DistanceTag;

  ByHalfBytes(const ScanTask* tasks, std::size_t lanes)
      : queries_(lanes, [&](std::size_t q) { return tasks[q].query; }), any_lanes_(lanes) {}

  // Zeros beside a distance are compared with zeros, and are not below them.
  static HWY_INLINE Distances limit(std::uint32_t below) {
    const auto distance = as_lane<std::int16_t>(below);
    if constexpr (kInPairs) return hn::Set(Tag(), distance);
    return hn::BitCast(Tag(), hn::Set(hn::Repartition<Lane, Tag>(), static_cast<Lane>(distance)));
  }

  template <std::size_t kTiles>
  HWY_INLINE void nearest_in(const std::uint8_t* tiles, Distances* nearest) const {
    const Tag d;
    for (std::size_t q = 0; q < kQueries; ++q) nearest[q] = hn::Set(d, std::numeric_limits<std::int16_t>::max());
    const std::size_t bytes = kTiles * kStripsPerTile * lanes() * kLine;
    if constexpr (kInPairs) {
      for (std::size_t at = 0; at < bytes; at += 2 * kVector) {
        const HalfBytes a = half_bytes_at(tiles + at);
        const HalfBytes b = half_bytes_at(tiles + at + kVector);
        for (std::size_t q = 0; q < kQueries; ++q) {
          const HalfBytes query = queries_(q, 0);
          nearest[q] = hn::Min(nearest[q], distances_of_two(differing_bits(a, query), differing_bits(b, query)));
        }
      }
    } else {
      for (std::size_t strip = 0; strip < bytes; strip += lanes() * kLine) {
        for (std::size_t part = 0; part < kLine; part += kVector) nearest_of_vector(tiles + strip + part, nearest);
      }
    }
  }

 private:
  static constexpr std::size_t kVector = hn::MaxLanes(ByteTag());
  static constexpr bool kInPairs = sizeof(Lane) == 4 && kLanes == 1;

  HWY_INLINE std::size_t lanes() const { return kLanes == 0 ? any_lanes_ : kLanes; }

  HWY_INLINE void nearest_of_vector(const std::uint8_t* lines, Distances* nearest) const {
    Distances sum[kQueries];
    for (auto& distances : sum) distances = hn::Zero(Tag());
    for (std::size_t first = 0; first < lanes(); first += kMostCounts) {
      const std::size_t end = std::min(first + kMostCounts, lanes());
      Bytes counts[kQueries];
      for (auto& bytes : counts) bytes = hn::Zero(ByteTag());
      for (std::size_t w = first; w < end; ++w) {
        const HalfBytes code = half_bytes_at(lines + w * kLine);
        for (std::size_t q = 0; q < kQueries; ++q) {
          counts[q] = with_more(counts[q], differing_bits(code, queries_(q, w)));
        }
      }
      for (std::size_t q = 0; q < kQueries; ++q) {
        sum[q] = hn::Add(sum[q], distances_of_lanes<Lane>(counts[q]));
      }
    }
    for (std::size_t q = 0; q < kQueries; ++q) nearest[q] = hn::Min(nearest[q], sum[q]);
  }

  HalfByteQueries<Lane, kLanes, kQueries> queries_;
  std::size_t any_lanes_;
};

template <class Lane, std::size_t kLanes, std::size_t kQueries>
using Nearest =
    std::conditional_t<sizeof(Lane) >= 4, ByHalfBytes<Lane, kLanes, kQueries>, ByLanes<Lane, kLanes, kQueries>>;
#else
template <class Lane, std::size_t kLanes, std::size_t kQueries>
using Nearest = ByLanes<Lane, kLanes, kQueries>;
#endif

// Tiles that share a comparison with the threshold. Of codes of one lane, a tile has so few instructions that a
// comparison per tile would be noticeable.
template <std::size_t kLanes>
constexpr std::size_t kTilesTogether = kLanes == 1 ? 2 : 1;

template <class Lane, std::size_t kLanes, std::size_t kTiles>
HWY_INLINE void report(const std::uint8_t* tiles, std::size_t lanes, std::size_t first_row, ScanTask& task,
                       HitSink sink) {
  constexpr std::size_t kCodes = kStripsPerTile * kLine / sizeof(Lane);
  for (std::size_t i = 0; i < kTiles; ++i) {
    const std::uint8_t* tile = tiles + i * kStripsPerTile * lanes * kLine;
    const auto row = static_cast<std::uint32_t>(first_row + i * kCodes);
    task.below = report_tile<Lane, kLanes>(tile, lanes, row, task, sink);
  }
}

// All tiles in order, kTiles at a time; a remainder of `tile_count` is not processed.
template <class Lane, std::size_t kLanes, std::size_t kQueries, std::size_t kTiles>
HWY_INLINE void scan(const std::uint8_t* tiles, std::size_t tile_count, std::size_t lanes, std::size_t first_row,
                     ScanTask* tasks, HitSink sink) {
  using Finder = Nearest<Lane, kLanes, kQueries>;
  const typename Finder::Tag d;
  constexpr std::size_t kCodes = kStripsPerTile * kLine / sizeof(Lane);
  const Finder finder(tasks, lanes);
  hn::Vec<typename Finder::Tag> below[kQueries];
  for (std::size_t q = 0; q < kQueries; ++q) below[q] = Finder::limit(tasks[q].below);
  for (std::size_t t = 0; t + kTiles <= tile_count; t += kTiles) {
    const std::uint8_t* here = tiles + t * kStripsPerTile * (kLanes == 0 ? lanes : kLanes) * kLine;
    hn::Vec<typename Finder::Tag> nearest[kQueries];
    for (auto& lane : nearest) lane = hn::Zero(d);  // which is never read, but not every compiler sees it
    finder.template nearest_in<kTiles>(here, nearest);
    for (std::size_t q = 0; q < kQueries; ++q) {
      if (HWY_LIKELY(hn::AllFalse(d, hn::Lt(nearest[q], below[q])))) continue;
      report<Lane, kLanes, kTiles>(here, lanes, first_row + t * kCodes, tasks[q], sink);
      below[q] = Finder::limit(tasks[q].below);
    }
  }
}

// The same for one query, compiled once for its three callers.
template <class Lane, std::size_t kLanes, std::size_t kTiles>
HWY_NOINLINE void scan_one(const std::uint8_t* tiles, std::size_t tile_count, std::size_t lanes, std::size_t first_row,
                           ScanTask& task, HitSink sink) {
  scan<Lane, kLanes, 1, kTiles>(tiles, tile_count, lanes, first_row, &task, sink);
}

// For one query, which waits for the memory: it answers fastest when asked for several pages at a time. Tiles of a
// run of pages are compared across the pages, and those with hits reported in order afterwards.
template <class Lane, std::size_t kLanes>
HWY_INLINE void scan_across(const std::uint8_t* tiles, std::size_t tile_count, std::size_t lanes, std::size_t first_row,
                            ScanTask& task, HitSink sink) {
  using Finder = Nearest<Lane, kLanes, 1>;
  const typename Finder::Tag d;
  const Finder finder(&task, lanes);
  constexpr std::size_t kTiles = kTilesTogether<kLanes>;
  constexpr std::size_t kCodes = kStripsPerTile * kLine / sizeof(Lane);
  constexpr std::size_t kPages = 8;
  constexpr std::size_t kPage = 4096;
  const std::size_t tile_bytes = kStripsPerTile * lanes * kLine;
  const std::size_t per_page = std::clamp<std::size_t>(kPage / (kTiles * tile_bytes), 1, 64 / kPages);
  const std::size_t stretch = kPages * per_page * kTiles;
  const std::size_t far = lanes * sizeof(Lane) * 8 / 2;
  std::size_t t = 0;
  for (; t + stretch <= tile_count; t += stretch) {
    const std::uint8_t* here = tiles + t * tile_bytes;
    if (task.below > far) {  // most tiles would have hits
      scan_one<Lane, kLanes, kTiles>(here, stretch, lanes, first_row + t * kCodes, task, sink);
      continue;
    }
    const auto below = Finder::limit(task.below);
    std::uint64_t with_hits = 0;
    for (std::size_t i = 0; i < per_page; ++i) {
      for (std::size_t page = 0; page < kPages; ++page) {
        const std::size_t number = page * per_page + i;
        hn::Vec<typename Finder::Tag> nearest = hn::Zero(d);
        finder.template nearest_in<kTiles>(here + number * kTiles * tile_bytes, &nearest);
        with_hits |= std::uint64_t{!hn::AllFalse(d, hn::Lt(nearest, below))} << number;
      }
    }
    for (; with_hits != 0; with_hits &= with_hits - 1) {
      const std::size_t number = kTiles * static_cast<std::size_t>(std::countr_zero(with_hits));
      report<Lane, kLanes, kTiles>(here + number * tile_bytes, lanes, first_row + (t + number) * kCodes, task, sink);
    }
  }
  scan_one<Lane, kLanes, kTiles>(tiles + t * tile_bytes, tile_count - t, lanes, first_row + t * kCodes, task, sink);
}

template <class Lane, std::size_t kLanes>
void scan_all(const std::uint8_t* tiles, std::size_t tile_count, std::size_t lanes, std::uint32_t first_row,
              ScanTask* tasks, std::size_t task_count, HitSink sink) {
  constexpr std::size_t kTiles = kTilesTogether<kLanes>;
  std::size_t i = 0;
  for (; i + kQueriesPerLoad <= task_count; i += kQueriesPerLoad) {
    scan<Lane, kLanes, kQueriesPerLoad, kTiles>(tiles, tile_count, lanes, first_row, tasks + i, sink);
  }
  for (; i < task_count; ++i) scan_across<Lane, kLanes>(tiles, tile_count, lanes, first_row, tasks[i], sink);
  const std::size_t whole = tile_count / kTiles * kTiles;
  if (whole == tile_count) return;
  const std::uint8_t* last = tiles + whole * kStripsPerTile * lanes * kLine;
  const std::size_t last_row = first_row + whole * kStripsPerTile * kLine / sizeof(Lane);
  for (std::size_t q = 0; q < task_count; ++q) scan_one<Lane, kLanes, 1>(last, 1, lanes, last_row, tasks[q], sink);
}

void scan_layout(const CodeLayout& layout, const std::uint8_t* tiles, std::size_t tile_count, std::uint32_t first_row,
                 ScanTask* tasks, std::size_t task_count, HitSink sink) {
  const auto run = [&](auto kernel) { kernel(tiles, tile_count, layout.lanes, first_row, tasks, task_count, sink); };
  // Loops of a known length are worth their code on targets that are in use; a lower number is a better target.
  constexpr bool kUnroll = HWY_TARGET <= HWY_AVX2;
  switch (layout.lane_bytes) {
    case 1: return run(scan_all<std::uint8_t, 1>);
    case 2: return run(scan_all<std::uint16_t, 1>);
    case 4:
      if (layout.lanes == 1) return run(scan_all<std::uint32_t, 1>);
      if constexpr (kUnroll) {
        if (layout.lanes == 3) return run(scan_all<std::uint32_t, 3>);
      }
      return run(scan_all<std::uint32_t, 0>);
    default:
      if (layout.lanes == 1) return run(scan_all<std::uint64_t, 1>);
      if constexpr (kUnroll) {
        if (layout.lanes == 2) return run(scan_all<std::uint64_t, 2>);
        if (layout.lanes == 4) return run(scan_all<std::uint64_t, 4>);
      }
      return run(scan_all<std::uint64_t, 0>);
  }
}

// Measured by bench/scan_bench and bench/plan_bench.
double line_cost(const CodeLayout& layout, bool alone) {
  switch (HWY_TARGET) {
    case HWY_AVX3_DL: return layout.lanes == 1 ? 0.51 : 0.56;
    case HWY_AVX3: return layout.lane_bytes >= 4 ? 1.2 : 1.8;
    case HWY_AVX2:
      return layout.lane_bytes < 4 ? 2.7 : alone && layout.lane_bytes == 4 && layout.lanes == 1 ? 2.3 : 1.7;
    case HWY_SSSE3: return layout.lane_bytes >= 4 ? 3.7 : 6.2;
    default: return 180.0 / static_cast<double>(layout.lane_bytes);  // one lane after the other
  }
}

template <class Word>
HWY_INLINE std::size_t planes_of(std::size_t words, const std::uint8_t* planes, std::size_t stride, std::size_t begin,
                                 std::size_t end, const std::uint8_t* query, std::uint32_t below, Hit* hits) {
  const hn::ScalableTag<Word> d;
  const std::size_t step = hn::Lanes(d);
  const auto* plane = reinterpret_cast<const Word*>(planes);
  const auto limit = hn::Set(d, static_cast<Word>(below));
  const auto first = hn::Set(d, lane_at<Word>(query, 0));
  std::size_t count = 0;
  const auto compare = [&](std::size_t i, std::uint64_t present) HWY_ATTR {
    auto sum = hn::PopulationCount(hn::Xor(hn::LoadU(d, plane + i), first));
    for (std::size_t w = 1; w < words; ++w) {
      const auto code = hn::LoadU(d, plane + w * stride + i);
      sum = hn::Add(sum, hn::PopulationCount(hn::Xor(code, hn::Set(d, lane_at<Word>(query, w)))));
    }
    const std::uint64_t near = bits_of(d, hn::Lt(sum, limit)) & present;
    if (HWY_LIKELY(near == 0)) return;
    alignas(kLine) Word distances[kLine / sizeof(Word)];
    hn::Store(sum, d, distances);
    count += append_hits(near, distances, static_cast<std::uint32_t>(i), hits + count);
  };
  std::size_t i = begin;
  for (; i + step <= end; i += step) compare(i, ~std::uint64_t{0});
  if (i < end) compare(i, (std::uint64_t{1} << (end - i)) - 1);
  return count;
}

std::size_t scan_bucket(std::size_t word_bytes, std::size_t words, const std::uint8_t* planes, std::size_t stride,
                        std::size_t begin, std::size_t end, const std::uint8_t* query, std::uint32_t below, Hit* hits) {
  if (word_bytes == 4) return planes_of<std::uint32_t>(words, planes, stride, begin, end, query, below, hits);
  return planes_of<std::uint64_t>(words, planes, stride, begin, end, query, below, hits);
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(scan_layout);
HWY_EXPORT(line_cost);
HWY_EXPORT(scan_bucket);
}  // namespace

void scan_tiles(const CodeLayout& layout, const std::uint8_t* tiles, std::size_t tile_count, std::uint32_t first_row,
                ScanTask* tasks, std::size_t task_count, HitSink sink) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(scan_layout)(layout, tiles, tile_count, first_row, tasks, task_count, sink);
}

double scan_line_cost(const CodeLayout& layout, std::size_t queries) {
  choose_simd_target();
  const std::size_t alone = queries % kQueriesPerLoad;
  return static_cast<double>(queries - alone) * HWY_DYNAMIC_DISPATCH(line_cost)(layout, false) +
         static_cast<double>(alone) * HWY_DYNAMIC_DISPATCH(line_cost)(layout, true);
}

std::size_t scan_planes(std::size_t word_bytes, std::size_t words, const std::uint8_t* planes, std::size_t stride,
                        std::size_t begin, std::size_t end, const std::uint8_t* query, std::uint32_t below, Hit* hits) {
  choose_simd_target();
  return HWY_DYNAMIC_DISPATCH(scan_bucket)(word_bytes, words, planes, stride, begin, end, query, below, hits);
}

}  // namespace bdnn
#endif  // HWY_ONCE
