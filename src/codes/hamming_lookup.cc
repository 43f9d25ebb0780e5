#include "codes/hamming_lookup.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codes/hamming_lookup.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<std::uint8_t, kQueriesPerLookup>;
constexpr std::size_t kVectors = kQueriesPerLookup / hn::MaxLanes(Tag());  // for a number per query
constexpr std::size_t kTogether = 8 / std::min<std::size_t>(kVectors, 8);  // codes whose distances registers hold

// One number per query.
struct Numbers {
  hn::Vec<Tag> of[kVectors];
};

HWY_INLINE Numbers load(const std::uint8_t* from) {
  Numbers numbers;
  for (std::size_t i = 0; i < kVectors; ++i) numbers.of[i] = hn::Load(Tag(), from + i * hn::MaxLanes(Tag()));
  return numbers;
}

// The queries whose number is at most their limit, as bits.
HWY_INLINE std::uint32_t within(const Numbers& numbers, const Numbers& limits) {
  const Tag d;
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < kVectors; ++i) {
    std::uint8_t bytes[8];
    hn::StoreMaskBits(d, hn::Eq(hn::Min(numbers.of[i], limits.of[i]), numbers.of[i]), bytes);
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes, (hn::MaxLanes(d) + 7) / 8);  // no more than was stored, or it would have to wait
    all |= bits << i * hn::MaxLanes(d);
  }
  return all;
}

// tables[(row * 256 + value) * 32 + q] are the bits in which `value` and byte `row` of query q differ.
void fill_lookup_tables(std::size_t rows, const ScanTask* tasks, std::size_t task_count, std::uint8_t* tables) {
  const Tag d;
  for (std::size_t row = 0; row < rows; ++row) {
    alignas(kQueriesPerLookup) std::uint8_t bytes[kQueriesPerLookup] = {};
    for (std::size_t q = 0; q < task_count; ++q) bytes[q] = tasks[q].query[row];
    const Numbers queries = load(bytes);
    for (unsigned value = 0; value < 256; ++value) {
      for (const auto& part : queries.of) {
        hn::Store(hn::PopulationCount(hn::Xor(part, hn::Set(d, static_cast<std::uint8_t>(value)))), d, tables);
        tables += hn::MaxLanes(d);
      }
    }
  }
}

// The thresholds of the tasks, and the handling of nearer codes.
template <class Lane>
class Reporter {
 public:
  Reporter(std::size_t lanes, ScanTask* tasks, std::size_t task_count, HitSink sink)
      : lanes_(lanes), tasks_(tasks), sink_(sink) {
    for (std::size_t q = 0; q < task_count; ++q) limit(q);
  }

  // Sums saturate at 255, so that is the largest limit.
  HWY_INLINE Numbers limits() const { return load(limits_); }
  HWY_INLINE std::uint32_t wanted() const { return wanted_; }

  // Reports a code to the queries that it is near enough to. `lines` points at its lane 0.
  HWY_NOINLINE void report(std::uint32_t queries, const Numbers& sums, const std::uint8_t* lines, std::size_t row) {
    alignas(kQueriesPerLookup) std::uint8_t distances[kQueriesPerLookup];
    for (std::size_t i = 0; i < kVectors; ++i) {
      hn::Store(sums.of[i], Tag(), distances + i * hn::MaxLanes(Tag()));
    }
    for (; queries != 0; queries &= queries - 1) {
      const auto q = static_cast<std::size_t>(std::countr_zero(queries));
      Hit hit{static_cast<std::uint32_t>(row), distances[q]};
      if (hit.distance == 255) hit.distance = distance_of(lines, tasks_[q].query);
      if (hit.distance >= tasks_[q].below) continue;
      tasks_[q].below = sink_(tasks_[q].collector, &hit, 1);
      limit(q);
    }
  }

 private:
  void limit(std::size_t q) {
    const std::uint32_t below = tasks_[q].below;
    limits_[q] = static_cast<std::uint8_t>(std::min(std::max(below, 1U) - 1, 255U));
    wanted_ = below > 0 ? wanted_ | 1U << q : wanted_ & ~(1U << q);
  }

  std::uint32_t distance_of(const std::uint8_t* lines, const std::uint8_t* query) const {
    std::uint32_t distance = 0;
    for (std::size_t w = 0; w < lanes_; ++w) {
      Lane code;
      Lane lane;
      std::memcpy(&code, lines + w * kLine, sizeof(Lane));
      std::memcpy(&lane, query + w * sizeof(Lane), sizeof(Lane));
      distance += static_cast<std::uint32_t>(std::popcount(static_cast<Lane>(code ^ lane)));
    }
    return distance;
  }

  std::size_t lanes_;
  ScanTask* tasks_;
  HitSink sink_;
  alignas(kQueriesPerLookup) std::uint8_t limits_[kQueriesPerLookup] = {};
  std::uint32_t wanted_ = 0;  // queries with a positive threshold
};

// kLanes is the number of lanes of a code, 0 where only `any_lanes` knows.
template <class Lane, std::size_t kLanes>
void scan_lanes(const std::uint8_t* tiles, std::size_t tile_count, std::size_t any_lanes, std::size_t first_row,
                ScanTask* tasks, std::size_t task_count, HitSink sink, std::uint8_t* tables) {
  constexpr std::size_t kStrip = kLine / sizeof(Lane);
  static_assert(kStrip % kTogether == 0);
  constexpr std::size_t kTable = 256 * kQueriesPerLookup;
  const std::size_t lanes = kLanes == 0 ? any_lanes : kLanes;
  fill_lookup_tables(lanes * sizeof(Lane), tasks, task_count, tables);
  Reporter<Lane> reporter(lanes, tasks, task_count, sink);
  Numbers limits = reporter.limits();
  for (std::size_t strip = 0; strip < tile_count * kStripsPerTile; ++strip) {
    const std::uint8_t* lines = tiles + strip * lanes * kLine;
    for (std::size_t first = 0; first < kStrip; first += kTogether, lines += kTogether * sizeof(Lane)) {
      Numbers sums[kTogether];
      for (std::size_t i = 0; i < kTogether; ++i) sums[i] = load(tables + lines[i * sizeof(Lane)] * kQueriesPerLookup);
      const std::uint8_t* at = lines;
      const std::uint8_t* table = tables;
      for (std::size_t w = 0; w < lanes; ++w, at += kLine, table += sizeof(Lane) * kTable) {
        for (std::size_t byte = 0; byte < sizeof(Lane); ++byte) {
          if (w == 0 && byte == 0) continue;
          for (std::size_t i = 0; i < kTogether; ++i) {
            const Numbers more = load(table + byte * kTable + at[i * sizeof(Lane) + byte] * kQueriesPerLookup);
            for (std::size_t part = 0; part < kVectors; ++part) {
              sums[i].of[part] = hn::SaturatedAdd(sums[i].of[part], more.of[part]);
            }
          }
        }
      }
      Numbers least = sums[0];
      for (std::size_t i = 1; i < kTogether; ++i) {
        for (std::size_t part = 0; part < kVectors; ++part) {
          least.of[part] = hn::Min(least.of[part], sums[i].of[part]);
        }
      }
      if (HWY_LIKELY((within(least, limits) & reporter.wanted()) == 0)) continue;
      for (std::size_t i = 0; i < kTogether; ++i) {
        const std::uint32_t near = within(sums[i], limits) & reporter.wanted();
        if (near == 0) continue;
        reporter.report(near, sums[i], lines + i * sizeof(Lane), first_row + strip * kStrip + first + i);
        limits = reporter.limits();
      }
    }
  }
}

void scan_layout(const CodeLayout& layout, const std::uint8_t* tiles, std::size_t tile_count, std::uint32_t first_row,
                 ScanTask* tasks, std::size_t task_count, HitSink sink, std::uint8_t* tables) {
  const auto run = [&](auto kernel) {
    kernel(tiles, tile_count, layout.lanes, first_row, tasks, task_count, sink, tables);
  };
  switch (layout.lane_bytes) {
    case 1: return run(scan_lanes<std::uint8_t, 1>);
    case 2: return run(scan_lanes<std::uint16_t, 1>);
    case 4: return layout.lanes == 1 ? run(scan_lanes<std::uint32_t, 1>) : run(scan_lanes<std::uint32_t, 0>);
    default: return layout.lanes == 1 ? run(scan_lanes<std::uint64_t, 1>) : run(scan_lanes<std::uint64_t, 0>);
  }
}

// Measured by bench/scan_bench. The shorter the code, the more of the time goes to comparing its distance.
double line_cost(const CodeLayout& layout) {
  const std::size_t bytes = layout.lanes * layout.lane_bytes;
  if (bytes > 32) return std::numeric_limits<double>::infinity();
  const double cost = bytes == 1 ? 45 : bytes <= 4 ? 26 : bytes <= 8 ? 31 : bytes <= 16 ? 37 : 42;
  switch (HWY_TARGET) {
    case HWY_AVX2: return cost;
    case HWY_SSSE3: return 1.6 * cost;
    default: return std::numeric_limits<double>::infinity();
  }
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(scan_layout);
HWY_EXPORT(line_cost);
}  // namespace

double lookup_line_cost(const CodeLayout& layout) {
  choose_simd_target();
  return HWY_DYNAMIC_DISPATCH(line_cost)(layout);
}

std::size_t queries_by_lookup(const CodeLayout& layout, std::size_t codes, std::size_t queries) {
  constexpr std::size_t kLeastCodes = 4096;  // for which building lookup tables pays
  if (codes < kLeastCodes) return 0;
  const double by_lookup = lookup_line_cost(layout);
  const std::size_t rest = queries % kQueriesPerLookup;
  if (by_lookup < scan_line_cost(layout, rest)) return queries;
  return by_lookup < scan_line_cost(layout, kQueriesPerLookup) ? queries - rest : 0;
}

void scan_tiles_by_lookup(const CodeLayout& layout, const std::uint8_t* tiles, std::size_t tile_count,
                          std::uint32_t first_row, ScanTask* tasks, std::size_t task_count, HitSink sink,
                          LookupRoom& room) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(scan_layout)(layout, tiles, tile_count, first_row, tasks, task_count, sink, room.get(layout));
}

void scan_tasks(const CodeLayout& layout, const std::uint8_t* tiles, std::size_t tile_count, std::uint32_t first_row,
                ScanTask* tasks, std::size_t task_count, HitSink sink, LookupRoom& room) {
  const std::size_t by_lookup = queries_by_lookup(layout, tile_count * layout.codes_per_tile(), task_count);
  for (std::size_t i = 0; i < by_lookup; i += kQueriesPerLookup) {
    scan_tiles_by_lookup(layout, tiles, tile_count, first_row, tasks + i, std::min(kQueriesPerLookup, by_lookup - i),
                         sink, room);
  }
  if (by_lookup < task_count) {
    scan_tiles(layout, tiles, tile_count, first_row, tasks + by_lookup, task_count - by_lookup, sink);
  }
}

}  // namespace bdnn
#endif  // HWY_ONCE
