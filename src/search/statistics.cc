#include "search/statistics.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "codes/hamming.h"
#include "search/combinations.h"

namespace bdnn {
namespace {

constexpr std::size_t kSamples = 64;
constexpr std::size_t kMostCompared = std::size_t{1}
                                      << 16;           // codes with every sample, to count those within a distance
constexpr std::size_t kWholeCodeSamples = 8;           // whose buckets, all of them, are counted
constexpr std::size_t kMeasuredSubstringDistance = 3;  // farther buckets are too many to count; codes are spread evenly

void copy_code(const ScanSource& codes, std::size_t row, std::uint8_t* to) {
  const std::size_t bytes = codes.layout.bytes_per_code();
  if (codes.tiles != nullptr) {
    deinterleave(codes.layout, codes.tiles, row, to);
  } else {
    std::memcpy(to, codes.packed + row * bytes, bytes);
  }
}

// The buckets that search_hash_tables() looks at in one step, for a query that is one of the codes but stands for
// others.
ProbeStep count_step(const std::uint8_t* query, std::size_t s, const HashTable& table) {
  ProbeStep step;
  const std::uint32_t own = substring(query, table.first_bit, table.bits);
  const std::uint32_t itself = s == 0 ? 1 : 0;
  Combinations flips(table.bits, s);
  std::array<std::uint32_t, 64> keys;
  while (const std::size_t count = flips.take(keys.data(), keys.size())) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t* start = table.starts + (own ^ keys[i]);
      const std::uint32_t others = start[1] - start[0] - itself;
      step.buckets += others > 0 ? 1 : 0;
      step.candidates += others;
    }
  }
  return step;
}

// How many codes a sample has within each distance, on average, itself left out.
std::vector<double> count_within(const ScanSource& codes, const std::vector<std::uint8_t>& samples) {
  const std::size_t bytes = codes.layout.bytes_per_code();
  const std::size_t step = (codes.count + kMostCompared - 1) / kMostCompared;
  const std::size_t compared = codes.count / step;
  std::vector<std::uint8_t> some(compared * bytes);
  for (std::size_t i = 0; i < compared; ++i) copy_code(codes, i * step, &some[i * bytes]);
  std::vector<std::uint16_t> distances(compared);
  std::vector<std::size_t> counts(codes.layout.bits + 1);
  for (std::size_t sample = 0; sample < kSamples; ++sample) {
    hamming_distances(&samples[sample * bytes], some.data(), bytes, compared, distances.data());
    for (const std::uint16_t distance : distances) ++counts[distance];
  }
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
  std::vector<double> within(counts.size());
  const double weight = static_cast<double>(codes.count) / static_cast<double>(compared * kSamples);
  std::transform(counts.begin(), counts.end(), within.begin(),
                 [&](std::size_t count) { return std::max(static_cast<double>(count) * weight - 1, 0.0); });
  return within;
}

}  // namespace

Statistics measure(const Segment& segment, Threads& threads) {
  Statistics statistics;
  const std::size_t n = segment.size();
  if (n == 0) return statistics;
  Random random(1);
  const CodeLayout& layout = segment.codes.layout;
  std::vector<std::uint8_t> bytes(kSamples * layout.bytes_per_code());
  for (std::size_t i = 0; i < kSamples; ++i) {
    copy_code(segment.codes, random.below(n), bytes.data() + i * layout.bytes_per_code());
  }
  statistics.within = count_within(segment.codes, bytes);
  PreparedQueries queries;
  queries.assign(Codes(layout.bits, kSamples, std::move(bytes)), 0, kSamples);
  std::vector<std::uint32_t> which(kSamples);
  std::iota(which.begin(), which.end(), 0U);
  std::vector<Collector> collectors(kSamples);
  ScanScratch scratch;
  const RowFilter all{n, nullptr, nullptr};
  // A code's own distance of zero is left out: that of the next ones stands for a query's.
  scan(segment.codes, all, {Statistics::kNeighbours.back() + 1, {}}, layout.bits, queries, which, threads, scratch,
       collectors.data());
  for (auto& collector : collectors) {
    const auto hits = collector.finish();
    statistics.duplicates += hits.size() > 1 && hits[1].distance == 0 ? 1.0 / kSamples : 0.0;
    for (std::size_t i = 0; i < Statistics::kNeighbours.size(); ++i) {
      const std::size_t k = Statistics::kNeighbours[i];
      statistics.distances[i].push_back(static_cast<std::uint16_t>(k < hits.size() ? hits[k].distance : layout.bits));
    }
  }
  const HashTables& tables = segment.hash_tables;
  if (tables.tables.empty()) return statistics;
  const std::size_t farthest = tables.of_whole_codes() ? layout.bits : kMeasuredSubstringDistance;
  const std::size_t samples = tables.of_whole_codes() ? kWholeCodeSamples : kSamples;
  for (std::size_t s = 0; s <= farthest; ++s) {
    for (const HashTable& table : tables.tables) {
      ProbeStep sum;
      for (std::size_t q = 0; q < samples; ++q) {
        const ProbeStep step = count_step(queries[q], s, table);
        sum.buckets += step.buckets;
        sum.candidates += step.candidates;
      }
      statistics.step_buckets.push_back(sum.buckets / static_cast<double>(samples));
      statistics.step_candidates.push_back(sum.candidates / static_cast<double>(samples));
    }
  }
  return statistics;
}

}  // namespace bdnn
