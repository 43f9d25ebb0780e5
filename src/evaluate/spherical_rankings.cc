#include "evaluate/spherical_rankings.h"

#include <algorithm>

#include "codes/hamming.h"
#include "codes/spherical.h"

namespace bdnn {
namespace {

// A table of levels is filled for each query; it pays if it has few entries per code.
constexpr std::size_t kEntriesPerCode = 1;

}  // namespace

SphericalRankings::SphericalRankings(const Codes& database, const Codes& queries, const Relevance& relevance, Ties ties)
    : database_(database),
      queries_(queries),
      relevance_(relevance),
      ties_(ties),
      ones_(count_bits(database)),
      query_ones_(count_bits(queries)),
      some_ones_(ones_) {
  std::sort(some_ones_.begin(), some_ones_.end());
  some_ones_.erase(std::unique(some_ones_.begin(), some_ones_.end()), some_ones_.end());
}

std::size_t SphericalRankings::relevant(std::size_t query) const {
  std::vector<std::uint8_t> marks;
  return mark_relevant(relevance_, query, database_.size(), marks);
}

void SphericalRankings::for_each(Range queries, Scratch& scratch,
                                 const std::function<void(std::size_t, const TieRanking&)>& take) const {
  for (std::size_t query = queries.first; query < queries.first + queries.count; ++query) {
    rank(query, scratch);
    take(query, scratch.ranking);
  }
}

std::uint64_t SphericalRankings::order(std::size_t query, std::size_t ones, std::size_t distance) const {
  return spherical_order(distance, common_bits(query_ones_[query], ones, distance), database_.bits());
}

// The level of every pair of bits set and Hamming distance that can occur.
void SphericalRankings::fill_table(std::size_t query, Scratch& scratch) const {
  const std::size_t bits = database_.bits();
  scratch.level_of.resize((bits + 1) * (bits + 1));
  for (const std::size_t ones : some_ones_) {
    const std::size_t own = query_ones_[query];
    const std::size_t least = ones > own ? ones - own : own - ones;
    const std::size_t most = std::min(ones + own, 2 * bits - ones - own);
    for (std::size_t distance = least; distance <= most; distance += 2) {
      scratch.level_of[ones * (bits + 1) + distance] =
          static_cast<std::uint32_t>(scratch.levels.of(order(query, ones, distance)));
    }
  }
}

void SphericalRankings::rank(std::size_t query, Scratch& scratch) const {
  const std::size_t n = database_.size();
  const std::size_t bits = database_.bits();
  scratch.distances.resize(n);
  hamming_distances(queries_[query].data(), database_.data(), database_.bytes_per_code(), n, scratch.distances.data());
  TieRanking& ranking = scratch.ranking;
  ranking.relevant = mark_relevant(relevance_, query, n, scratch.is_relevant);
  const auto order_of = [&](std::size_t i) { return order(query, ones_[i], scratch.distances[i]); };
  scratch.levels.assign(scratch.is_relevant, order_of);
  ranking.levels.assign(scratch.levels.count(), {});
  const bool table = (bits + 1) * (bits + 1) <= kEntriesPerCode * n;
  if (table) fill_table(query, scratch);
  const auto level_of = [&](std::size_t i) -> std::size_t {
    return table ? scratch.level_of[ones_[i] * (bits + 1) + scratch.distances[i]] : scratch.levels.of(order_of(i));
  };

  const std::int64_t left_out = left_out_of(relevance_, query);
  const auto* lists = std::get_if<Relevance::Neighbours>(&relevance_.of);
  const std::size_t nearest = lists ? static_cast<std::size_t>(lists->ids[query * lists->per_query]) : n;
  ranking.nearest.reset();
  scratch.places.clear();
  for (std::size_t i = 0; i < n; ++i) {
    if (static_cast<std::int64_t>(i) == left_out) continue;
    const std::size_t number = level_of(i);
    TieLevel& level = ranking.levels[number];
    ++level.size;
    if (scratch.is_relevant[i] == 0) continue;
    ++level.relevant;
    scratch.places.push_back({number, level.size});  // in the order of the database
    if (i == nearest) ranking.nearest = {number, level.size};
  }
  if (ties_ != Ties::order) return;
  std::stable_sort(scratch.places.begin(), scratch.places.end(),
                   [](const auto& a, const auto& b) { return a.level < b.level; });
  ranking.places.clear();
  for (const auto& [level, place] : scratch.places) ranking.places.push_back(static_cast<std::uint32_t>(place));
}

}  // namespace bdnn
