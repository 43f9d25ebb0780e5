#include "search/mih.h"

#include <algorithm>
#include <array>
#include <bit>

#include "search/combinations.h"
#include "search/queries.h"

namespace bdnn {
namespace {

constexpr std::size_t kFetchBytes = 1536;
constexpr std::size_t kBucketsAhead = 64;  // buckets that are fetched while others are looked at

// The first lines of a bucket's codes; the machine itself sees the rest coming.
void fetch(const HashTables& tables, const HashTable& table, std::size_t begin, std::size_t end) {
  const std::size_t bytes = std::min((end - begin) * tables.word_bytes(), kFetchBytes);
  for (std::size_t w = 0; w < tables.words(); ++w) {
    const std::uint8_t* at = table.planes + (w * tables.count + begin) * tables.word_bytes();
    for (std::size_t byte = 0; byte < bytes; byte += kLine) __builtin_prefetch(at + byte);
  }
}

// Calls use(table, key) for the query's own bucket of each table (s = 0), or for those at one bit from it (s = 1).
template <class Use>
void each_near_bucket(const HashTables& tables, const std::uint8_t* query, std::size_t s, std::size_t first_tables,
                      const Use& use) {
  for (std::size_t j = 0; j < first_tables; ++j) {
    const HashTable& table = tables.tables[j];
    const std::uint32_t own = substring(query, table.first_bit, table.bits);
    if (s == 0) {
      use(table, own);
    } else {
      for (std::size_t bit = 0; bit < table.bits; ++bit) use(table, own ^ (std::uint32_t{1} << bit));
    }
  }
}

class Probe {
 public:
  Probe(const HashTables& tables, std::span<const ProbeStep> steps, const ProbeCosts& costs, const std::uint8_t* query,
        double budget, std::size_t fetched, HashTableScratch& scratch, Collector& collector)
      : tables_(tables),
        steps_(steps),
        costs_(costs),
        query_(query),
        budget_(budget),
        fetched_(fetched),
        scratch_(scratch),
        collector_(collector),
        most_(collector.most_of_a_distance()) {}

  bool run() {
    std::size_t longest = 0;
    for (const HashTable& table : tables_.tables) longest = std::max(longest, table.bits);
    const std::size_t count = tables_.tables.size();
    for (std::size_t s = 0; s <= longest; ++s) {
      if (s <= 1 && number_of(s, 0) >= fetched_) announce(s);
      for (std::size_t j = 0; j < count; ++j) {
        // All that is nearer has been met, and nothing farther is wanted.
        if (collector_.below() <= s * count + j) return true;
        if (!step(s, j)) return false;
      }
    }
    return true;
  }

 private:
  struct Range {
    std::uint32_t begin;
    std::uint32_t end;
  };

  // The first rounds have few buckets per table: those of all tables are fetched at once, not table after table.
  void announce(std::size_t s) const {
    const auto each = [&](const auto& use) { each_near_bucket(tables_, query_, s, tables_.tables.size(), use); };
    each([](const HashTable& table, std::uint32_t key) { __builtin_prefetch(table.occupied + key / 64); });
    each([](const HashTable& table, std::uint32_t key) {
      if (table.has(key)) __builtin_prefetch(table.starts + key);
    });
  }

  bool step(std::size_t s, std::size_t j) {
    const HashTable& table = tables_.tables[j];
    if (s > table.bits) return true;
    if (spent_ + expected_cost(s, j) > budget_) return false;
    const std::uint32_t own = substring(query_, table.first_bit, table.bits);
    Combinations flips(table.bits, s);
    std::array<std::uint32_t, kBucketsAhead> keys;
    std::array<Range, kBucketsAhead> ranges;
    while (const std::size_t count = flips.take(keys.data(), kBucketsAhead)) {
      std::size_t present = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t key = keys[i] ^ own;
        keys[present] = key;
        present += table.has(key) ? 1 : 0;
      }
      for (std::size_t i = 0; i < present; ++i) __builtin_prefetch(table.starts + keys[i]);
      std::size_t filled = 0;
      double candidates = 0;
      for (std::size_t i = 0; i < present; ++i) {
        const std::uint32_t* start = table.starts + keys[i];
        // A damaged file must not lead outside.
        auto end = std::min<std::uint32_t>(start[1], static_cast<std::uint32_t>(tables_.count));
        if (start[0] >= end) continue;
        if (table.planes == nullptr && end - start[0] > most_) end = start[0] + static_cast<std::uint32_t>(most_);
        ranges[filled++] = {start[0], end};
        candidates += end - start[0];
        if (number_of(s, j) < fetched_) continue;
        __builtin_prefetch(table.rows + start[0]);
        if (table.planes != nullptr) fetch(tables_, table, start[0], end);
      }
      spent_ += costs_.probe * static_cast<double>(count) + costs_.bucket * static_cast<double>(filled) +
                costs_.candidate * candidates;
      if (spent_ > budget_) return false;
      for (std::size_t i = 0; i < filled; ++i) look(table, ranges[i], s, j);
    }
    return true;
  }

  std::size_t number_of(std::size_t s, std::size_t j) const { return s * tables_.tables.size() + j; }

  double expected_cost(std::size_t s, std::size_t j) const {
    const std::size_t number = number_of(s, j);
    if (number < steps_.size()) return costs_.of(steps_[number], static_cast<double>(most_));
    return costs_.probe * binomial(tables_.tables[j].bits, s);
  }

  void look(const HashTable& table, const Range& range, std::size_t s, std::size_t j) {
    for (std::uint32_t from = range.begin; from < range.end;) {
      const std::uint32_t to = from + std::min(range.end - from, static_cast<std::uint32_t>(HashTableScratch::kHits));
      take({from, to}, table, s, j);
      from = to;
    }
  }

  void take(const Range& range, const HashTable& table, std::size_t s, std::size_t j) {
    Hit* hits = scratch_.hits.data();
    if (table.planes == nullptr) {
      const std::size_t size = range.end - range.begin;
      for (std::size_t i = 0; i < size; ++i) hits[i] = {table.rows[range.begin + i], static_cast<std::uint32_t>(s)};
      collector_.take(hits, size);
      return;
    }
    const std::size_t count = scan_planes(tables_.word_bytes(), tables_.words(), table.planes, tables_.count,
                                          range.begin, range.end, query_, collector_.below(), hits);
    spent_ += costs_.hit * static_cast<double>(count);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (met_before(table, hits[i].row, s, j)) continue;
      hits[kept++] = {table.rows[hits[i].row], hits[i].distance};
    }
    if (kept > 0) collector_.take(hits, kept);
  }

  // Whether an earlier step met the code: told by the code itself, so nothing has to be remembered.
  bool met_before(const HashTable& table, std::size_t at, std::size_t s, std::size_t j) const {
    for (std::size_t i = 0; i < tables_.tables.size(); ++i) {
      const HashTable& other = tables_.tables[i];
      const std::size_t within = i < j ? s + 1 : s;  // met if the substring differs in fewer bits
      if (i != j && differing(table, at, other) < within) return true;
    }
    return false;
  }

  // In how many bits of the other table's substring the code that stands at `at` differs from the query.
  std::size_t differing(const HashTable& table, std::size_t at, const HashTable& other) const {
    const std::size_t word_bits = 8 * tables_.word_bytes();
    const std::size_t first_word = other.first_bit / word_bits;
    const std::size_t shift = other.first_bit % word_bits;
    // At most 26 bits, so they stand in one word or two.
    std::uint64_t bits = word(table, at, first_word) >> shift;
    if (shift + other.bits > word_bits) bits |= word(table, at, first_word + 1) << (word_bits - shift);
    const std::uint64_t mask = (std::uint64_t{1} << other.bits) - 1;
    return static_cast<std::size_t>(std::popcount(bits & mask));
  }

  // Word w of the code that stands at `at`, where it differs from the query.
  std::uint64_t word(const HashTable& table, std::size_t at, std::size_t w) const {
    const std::size_t place = w * tables_.count + at;
    return tables_.word_bytes() == 4 ? word_at<std::uint32_t>(table.planes, place) ^ word_at<std::uint32_t>(query_, w)
                                     : word_at<std::uint64_t>(table.planes, place) ^ word_at<std::uint64_t>(query_, w);
  }

  template <class Word>
  static std::uint64_t word_at(const std::uint8_t* words, std::size_t i) {
    Word value;
    std::memcpy(&value, words + i * sizeof value, sizeof value);
    return value;
  }

  const HashTables& tables_;
  std::span<const ProbeStep> steps_;
  const ProbeCosts& costs_;
  const std::uint8_t* query_;
  double budget_;
  std::size_t fetched_;  // steps whose buckets are on their way already
  HashTableScratch& scratch_;
  Collector& collector_;
  std::size_t most_;  // of a bucket of equal codes
  double spent_ = 0;
};

}  // namespace

std::size_t fetch_steps(const HashTables& tables, const std::uint8_t* query, std::size_t steps) {
  const std::size_t count = tables.tables.size();
  const std::size_t fetched = tables.of_whole_codes() ? 0 : std::min(steps, 2 * count);
  for (std::size_t s = 0; s * count < fetched; ++s) {
    each_near_bucket(tables, query, s, std::min(count, fetched - s * count),
                     [&](const HashTable& table, std::uint32_t key) {
                       if (!table.has(key)) return;
                       const std::uint32_t* start = table.starts + key;
                       const auto end = std::min<std::uint32_t>(start[1], static_cast<std::uint32_t>(tables.count));
                       if (start[0] < end) fetch(tables, table, start[0], end);
                     });
  }
  return fetched;
}

bool search_hash_tables(const HashTables& tables, std::span<const ProbeStep> steps, const ProbeCosts& costs,
                        const std::uint8_t* query, double budget, std::size_t fetched, HashTableScratch& scratch,
                        Collector& collector) {
  return Probe(tables, steps, costs, query, budget, fetched, scratch, collector).run();
}

}  // namespace bdnn
