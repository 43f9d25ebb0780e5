#include "evaluate/rankings.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "codes/hamming.h"

namespace bdnn {
namespace {

constexpr std::size_t kCodesPerPiece = 2048;  // with their distances they stay in the first-level cache

// Counts of one query: several tables in turns, because an increment waits for the last one of the same counter.
constexpr std::size_t kTables = 4;

void count_distances(std::span<const std::uint16_t> distances, std::size_t stride, std::uint32_t* tables) {
  std::size_t i = 0;
  for (; i + kTables <= distances.size(); i += kTables) {
    for (std::size_t t = 0; t < kTables; ++t) ++tables[t * stride + distances[i + t]];
  }
  for (; i < distances.size(); ++i) ++tables[distances[i]];
}

void count_distances(std::span<const std::uint16_t> distances, const std::uint32_t* repeats, std::size_t stride,
                     std::uint32_t* tables) {
  std::size_t i = 0;
  for (; i + kTables <= distances.size(); i += kTables) {
    for (std::size_t t = 0; t < kTables; ++t) tables[t * stride + distances[i + t]] += repeats[i + t];
  }
  for (; i < distances.size(); ++i) tables[distances[i]] += repeats[i];
}

std::size_t total(const std::uint32_t* tables, std::size_t stride, std::size_t distance) {
  std::size_t sum = 0;
  for (std::size_t t = 0; t < kTables; ++t) sum += tables[t * stride + distance];
  return sum;
}

}  // namespace

Rankings::Rankings(const Codes& database, const Codes& queries, const Relevance& relevance, Ties ties)
    : database_(database),
      queries_(queries),
      relevance_(relevance),
      labels_(std::get_if<Relevance::Labels>(&relevance.of)),
      ties_(ties) {
  if (!labels_) {
    if (ties != Ties::order) find_distinct_codes();
    return;
  }
  by_label_.resize(database.size());
  std::iota(by_label_.begin(), by_label_.end(), 0U);
  std::stable_sort(by_label_.begin(), by_label_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return labels_->database[a] < labels_->database[b]; });
  for (const std::uint32_t id : by_label_) sorted_labels_.push_back(labels_->database[id]);
  if (ties == Ties::order) return;
  codes_by_label_.reserve(database.size() * database.bytes_per_code());
  for (const std::uint32_t id : by_label_) {
    codes_by_label_.insert(codes_by_label_.end(), database[id].begin(), database[id].end());
  }
}

void Rankings::find_distinct_codes() {
  const std::size_t bytes = database_.bytes_per_code();
  if (bytes > sizeof(std::uint64_t)) return;  // longer codes hardly repeat
  std::vector<std::uint64_t> sorted(database_.size(), 0);
  for (std::size_t i = 0; i < sorted.size(); ++i) std::memcpy(&sorted[i], database_.data() + i * bytes, bytes);
  std::sort(sorted.begin(), sorted.end());
  std::size_t distinct = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) distinct += i == 0 || sorted[i] != sorted[i - 1];
  if (distinct > database_.size() / 4 * 3) return;
  repeats_.reserve(distinct);
  distinct_codes_.resize(distinct * bytes);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 || sorted[i] != sorted[i - 1]) {
      std::memcpy(distinct_codes_.data() + repeats_.size() * bytes, &sorted[i], bytes);
      repeats_.push_back(0);
    }
    ++repeats_.back();
  }
}

std::size_t Rankings::distance(std::size_t query, std::size_t id) const {
  return hamming_distance(queries_[query], database_[id]);
}

Range Rankings::same_label(std::size_t query) const {
  const auto [first, last] = std::equal_range(sorted_labels_.begin(), sorted_labels_.end(), labels_->queries[query]);
  return {static_cast<std::size_t>(first - sorted_labels_.begin()), static_cast<std::size_t>(last - first)};
}

bool Rankings::leaves_out_relevant(std::size_t query) const {
  const std::int64_t id = self(query);
  return id >= 0 && labels_->database[static_cast<std::size_t>(id)] == labels_->queries[query];
}

std::span<const std::int32_t> Rankings::neighbours(std::size_t query) const {
  const auto& lists = std::get<Relevance::Neighbours>(relevance_.of);
  return lists.ids.subspan(query * lists.per_query, lists.per_query);
}

std::size_t Rankings::relevant(std::size_t query) const {
  if (!labels_) return neighbours(query).size();
  return same_label(query).count - (leaves_out_relevant(query) ? 1 : 0);
}

void Rankings::for_each(Range queries, Scratch& scratch,
                        const std::function<void(std::size_t, const TieRanking&)>& take) const {
  scratch.distances.resize(kCodesPerPiece);
  if (ties_ == Ties::order) {
    count_in_order(queries, scratch);
  } else if (!repeats_.empty()) {
    count_distinct(queries, scratch);
  } else {
    count(queries, scratch);
  }
  for (std::size_t i = 0; i < queries.count; ++i) {
    const std::size_t query = queries.first + i;
    TieRanking& ranking = scratch.ranking;
    ranking.levels.assign(database_.bits() + 1, {});
    ranking.relevant = relevant(query);
    ties_ == Ties::order ? rank_in_order(query, i, scratch) : rank(query, i, scratch);
    if (const std::int64_t id = self(query); id >= 0) {
      --ranking.levels[distance(query, static_cast<std::size_t>(id))].size;
    }
    take(query, ranking);
  }
}

// Each query has two sets of tables: for codes with its label, and for all others.
void Rankings::count(Range queries, Scratch& scratch) const {
  const std::size_t stride = database_.bits() + 1;
  const std::size_t bytes = database_.bytes_per_code();
  const std::uint8_t* codes = labels_ ? codes_by_label_.data() : database_.data();
  scratch.counts.assign(queries.count * 2 * kTables * stride, 0);
  Range same[kQueriesPerBlock] = {};
  for (std::size_t i = 0; labels_ && i < queries.count; ++i) same[i] = same_label(queries.first + i);
  for (std::size_t at = 0; at < database_.size(); at += kCodesPerPiece) {
    const std::size_t n = std::min(kCodesPerPiece, database_.size() - at);
    for (std::size_t i = 0; i < queries.count; ++i) {
      hamming_distances(queries_[queries.first + i].data(), codes + at * bytes, bytes, n, scratch.distances.data());
      const std::span<const std::uint16_t> distances(scratch.distances.data(), n);
      std::uint32_t* others = scratch.counts.data() + i * 2 * kTables * stride;
      const std::size_t first = std::clamp(same[i].first, at, at + n) - at;
      const std::size_t last = std::clamp(same[i].first + same[i].count, at, at + n) - at;
      count_distances(distances.first(first), stride, others);
      count_distances(distances.subspan(first, last - first), stride, others + kTables * stride);
      count_distances(distances.subspan(last), stride, others);
    }
  }
}

// There are only lists of neighbours, so all counts go to the tables of the other codes.
void Rankings::count_distinct(Range queries, Scratch& scratch) const {
  const std::size_t stride = database_.bits() + 1;
  const std::size_t bytes = database_.bytes_per_code();
  scratch.counts.assign(queries.count * 2 * kTables * stride, 0);
  for (std::size_t at = 0; at < repeats_.size(); at += kCodesPerPiece) {
    const std::size_t n = std::min(kCodesPerPiece, repeats_.size() - at);
    for (std::size_t i = 0; i < queries.count; ++i) {
      hamming_distances(queries_[queries.first + i].data(), distinct_codes_.data() + at * bytes, bytes, n,
                        scratch.distances.data());
      count_distances({scratch.distances.data(), n}, repeats_.data() + at, stride,
                      scratch.counts.data() + i * 2 * kTables * stride);
    }
  }
}

void Rankings::rank(std::size_t query, std::size_t slot, Scratch& scratch) const {
  auto& levels = scratch.ranking.levels;
  const std::size_t stride = levels.size();
  const std::uint32_t* others = scratch.counts.data() + slot * 2 * kTables * stride;
  for (std::size_t d = 0; d < stride; ++d) levels[d].size = total(others, stride, d);
  if (labels_) {
    for (std::size_t d = 0; d < stride; ++d) {
      levels[d].relevant = total(others + kTables * stride, stride, d);
      levels[d].size += levels[d].relevant;
    }
    if (leaves_out_relevant(query)) --levels[distance(query, static_cast<std::size_t>(self(query)))].relevant;
    return;
  }
  const auto ids = neighbours(query);
  const std::size_t bytes = database_.bytes_per_code();
  scratch.codes.resize(ids.size() * bytes);
  scratch.distances.resize(std::max(scratch.distances.size(), ids.size()));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::memcpy(scratch.codes.data() + i * bytes, database_.data() + static_cast<std::size_t>(ids[i]) * bytes, bytes);
  }
  hamming_distances(queries_[query].data(), scratch.codes.data(), bytes, ids.size(), scratch.distances.data());
  for (std::size_t i = 0; i < ids.size(); ++i) ++levels[scratch.distances[i]].relevant;
  scratch.ranking.nearest = {scratch.distances[0], 0};
}

void Rankings::start_placing(std::size_t query, Scratch::Placing& placing) const {
  placing.next = 0;
  placing.found.clear();
  if (labels_) {
    const Range same = same_label(query);
    const auto first = by_label_.begin() + static_cast<std::ptrdiff_t>(same.first);
    placing.ids.assign(first, first + static_cast<std::ptrdiff_t>(same.count));
    if (leaves_out_relevant(query)) std::erase(placing.ids, static_cast<std::uint32_t>(self(query)));
  } else {
    placing.ids.assign(neighbours(query).begin(), neighbours(query).end());
    std::sort(placing.ids.begin(), placing.ids.end());
  }
}

// In the order of the database, a code's place in its level is the count of its distance so far.
void Rankings::count_in_order(Range queries, Scratch& scratch) const {
  const std::size_t stride = database_.bits() + 1;
  const std::size_t bytes = database_.bytes_per_code();
  scratch.counts.assign(queries.count * stride, 0);
  scratch.places.resize(kCodesPerPiece);
  scratch.placings.resize(kQueriesPerBlock);
  for (std::size_t i = 0; i < queries.count; ++i) start_placing(queries.first + i, scratch.placings[i]);
  for (std::size_t at = 0; at < database_.size(); at += kCodesPerPiece) {
    const std::size_t n = std::min(kCodesPerPiece, database_.size() - at);
    for (std::size_t i = 0; i < queries.count; ++i) {
      const std::size_t query = queries.first + i;
      hamming_distances(queries_[query].data(), database_.data() + at * bytes, bytes, n, scratch.distances.data());
      std::uint32_t* counts = scratch.counts.data() + i * stride;
      for (std::size_t j = 0; j < n; ++j) scratch.places[j] = ++counts[scratch.distances[j]];
      auto& placing = scratch.placings[i];
      for (; placing.next < placing.ids.size() && placing.ids[placing.next] < at + n; ++placing.next) {
        const std::size_t j = placing.ids[placing.next] - at;
        placing.found.push_back({scratch.distances[j], scratch.places[j]});
      }
    }
  }
}

void Rankings::rank_in_order(std::size_t query, std::size_t slot, Scratch& scratch) const {
  TieRanking& ranking = scratch.ranking;
  auto& placing = scratch.placings[slot];
  const std::size_t stride = ranking.levels.size();
  for (std::size_t d = 0; d < stride; ++d) ranking.levels[d].size = scratch.counts[slot * stride + d];
  if (const std::int64_t id = self(query); id >= 0) {
    // Codes after the one left out move up by one.
    const std::size_t d = distance(query, static_cast<std::size_t>(id));
    for (std::size_t i = 0; i < placing.ids.size(); ++i) {
      if (placing.found[i].distance == d && placing.ids[i] > id) --placing.found[i].place;
    }
  }
  if (!labels_) {
    const auto nearest = static_cast<std::uint32_t>(neighbours(query)[0]);
    const auto at = std::lower_bound(placing.ids.begin(), placing.ids.end(), nearest) - placing.ids.begin();
    const auto& found = placing.found[static_cast<std::size_t>(at)];
    ranking.nearest = {found.distance, found.place};
  }
  for (const auto& found : placing.found) ++ranking.levels[found.distance].relevant;
  // A counting sort by distance, which leaves the places of a level ascending.
  std::vector<std::size_t> next(stride, 0);
  for (std::size_t d = 1; d < stride; ++d) next[d] = next[d - 1] + ranking.levels[d - 1].relevant;
  ranking.places.resize(placing.found.size());
  for (const auto& found : placing.found) ranking.places[next[found.distance]++] = found.place;
}

}  // namespace bdnn
