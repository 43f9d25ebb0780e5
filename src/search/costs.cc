#include "search/costs.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace bdnn {
namespace {

constexpr double kMegabyte = 1 << 20;

// The bytes that all hash tables take together.
double bytes_of(const HashTables& tables) {
  double bytes = 0;
  for (const HashTable& table : tables.tables) {
    bytes += static_cast<double>(table.buckets()) * (4 + 1.0 / 8) + static_cast<double>(tables.count) * 4;
    if (!tables.of_whole_codes()) bytes += static_cast<double>(tables.plane_bytes());
  }
  return bytes;
}

}  // namespace

double tile_hit_cost(const CodeLayout& layout) { return layout.lane_bytes == 8 ? 38 : 52; }

double fetch_cost(double bytes) {
  struct Point {
    double megabytes;
    double cost;
  };
  // The second-level cache, the third, and memory; between two sizes by the logarithm.
  constexpr std::array<Point, 6> kPoints = {{{1, 0}, {2, 1.3}, {4, 1.8}, {8, 1.9}, {16, 2.4}, {64, 5}}};
  const double megabytes = bytes / kMegabyte;
  if (megabytes <= kPoints.front().megabytes) return kPoints.front().cost;
  for (std::size_t i = 1; i < kPoints.size(); ++i) {
    const auto& [low, low_cost] = kPoints[i - 1];
    const auto& [high, high_cost] = kPoints[i];
    if (megabytes > high) continue;
    return low_cost + (high_cost - low_cost) * std::log(megabytes / low) / std::log(high / low);
  }
  return kPoints.back().cost;
}

// The larger the hash tables, the farther away is what a bucket leads to.
ProbeCosts::ProbeCosts(const HashTables& tables) {
  const double megabytes = bytes_of(tables) / kMegabyte;
  const auto count = static_cast<double>(tables.tables.size());
  if (tables.of_whole_codes()) {
    probe = 5;
    bucket = 16 + 12 * std::clamp(std::log2(megabytes / 0.3), 0.0, 5.0);
    candidate = 8;
    return;
  }
  probe = 3.5;
  bucket = 14 + 12.5 * std::clamp(std::log2(megabytes / 2), 0.0, 12.0);
  candidate = 1.2 * static_cast<double>(tables.words());
  hit = 12 + 4.5 * count;
}

}  // namespace bdnn
