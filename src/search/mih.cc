#include "search/mih.h"

#include <algorithm>
#include <array>
#include <bit>

#include "search/combinations.h"
#include "search/queries.h"

namespace bdnn {
namespace {

constexpr std::size_t kFetchBytes = 512;
constexpr std::size_t kAhead = 64;  // buckets that are fetched while others are looked at

class Lookup {
 public:
  Lookup(const Tables& tables, const std::uint8_t* query, double budget, TableScratch& scratch, Collector& collector)
      : tables_(tables),
        query_(query),
        budget_(budget),
        scratch_(scratch),
        collector_(collector),
        most_(collector.most_of_a_distance()) {}

  bool run() {
    std::size_t longest = 0;
    for (const Table& table : tables_.tables) longest = std::max(longest, table.bits);
    const std::size_t count = tables_.tables.size();
    for (std::size_t s = 0; s <= longest; ++s) {
      if (s <= 1) announce(s);
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
    const auto each = [&](const auto& use) {
      for (const Table& table : tables_.tables) {
        const std::uint32_t own = substring(query_, table.first_bit, table.bits);
        if (s == 0) {
          use(table, own);
        } else {
          for (std::size_t bit = 0; bit < table.bits; ++bit) use(table, own ^ (std::uint32_t{1} << bit));
        }
      }
    };
    each([](const Table& table, std::uint32_t key) { __builtin_prefetch(table.occupied + key / 64); });
    each([](const Table& table, std::uint32_t key) {
      if (table.has(key)) __builtin_prefetch(table.starts + key);
    });
  }

  bool step(std::size_t s, std::size_t j) {
    const Table& table = tables_.tables[j];
    if (s > table.bits) return true;
    if (spent_ + kProbeCost * binomial(table.bits, s) > budget_) return false;
    const std::uint32_t own = substring(query_, table.first_bit, table.bits);
    Combinations flips(table.bits, s);
    std::array<std::uint32_t, kAhead> keys;
    std::array<Range, kAhead> ranges;
    const double bucket_cost = tables_.of_whole_codes() ? kWholeBucketCost : kBucketCost;
    while (const std::size_t count = flips.take(keys.data(), kAhead)) {
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
        __builtin_prefetch(table.rows + start[0]);
        if (table.planes != nullptr) fetch(table, start[0], end);
      }
      spent_ += kProbeCost * static_cast<double>(count) + bucket_cost * static_cast<double>(filled) +
                kCandidateCost * candidates;
      if (spent_ > budget_) return false;
      for (std::size_t i = 0; i < filled; ++i) look(table, ranges[i], s, j);
    }
    return true;
  }

  // The first lines of a bucket's codes; the machine itself sees the rest coming.
  void fetch(const Table& table, std::size_t begin, std::size_t end) const {
    const std::size_t bytes = std::min((end - begin) * tables_.word_bytes(), kFetchBytes);
    for (std::size_t w = 0; w < tables_.words(); ++w) {
      const std::uint8_t* at = table.planes + (w * tables_.count + begin) * tables_.word_bytes();
      for (std::size_t byte = 0; byte < bytes; byte += kLine) __builtin_prefetch(at + byte);
    }
  }

  void look(const Table& table, const Range& range, std::size_t s, std::size_t j) {
    const std::size_t size = range.end - range.begin;
    if (scratch_.hits.size() < size) scratch_.hits.resize(size);
    Hit* hits = scratch_.hits.data();
    if (table.planes == nullptr) {
      for (std::size_t i = 0; i < size; ++i) hits[i] = {table.rows[range.begin + i], static_cast<std::uint32_t>(s)};
      collector_.take(hits, size);
      return;
    }
    std::size_t count = scan_planes(tables_.word_bytes(), tables_.words(), table.planes, tables_.count, range.begin,
                                    range.end, query_, collector_.below(), hits);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (met_before(table, hits[i].row, s, j)) continue;
      hits[kept++] = {table.rows[hits[i].row], hits[i].distance};
    }
    if (kept > 0) collector_.take(hits, kept);
  }

  // Whether an earlier step met the code: told by the code itself, so nothing has to be remembered.
  bool met_before(const Table& table, std::size_t at, std::size_t s, std::size_t j) const {
    for (std::size_t i = 0; i < tables_.tables.size(); ++i) {
      const Table& other = tables_.tables[i];
      const std::size_t within = i < j ? s + 1 : s;  // met if the substring differs in fewer bits
      if (i != j && differing(table, at, other) < within) return true;
    }
    return false;
  }

  // In how many bits of the other table's substring the code that stands at `at` differs from the query.
  std::size_t differing(const Table& table, std::size_t at, const Table& other) const {
    const std::size_t word_bytes = tables_.word_bytes();
    const std::size_t first_word = other.first_bit / (8 * word_bytes);
    const std::size_t shift = other.first_bit % (8 * word_bytes);
    // At most 26 bits, so they stand in one word or two.
    std::uint64_t bits = word(table, at, first_word) >> shift;
    if (shift + other.bits > 8 * word_bytes) bits |= word(table, at, first_word + 1) << (8 * word_bytes - shift);
    const std::uint64_t mask = (std::uint64_t{1} << other.bits) - 1;
    return static_cast<std::size_t>(std::popcount(bits & mask));
  }

  // Word w of the code that stands at `at`, where it differs from the query.
  std::uint64_t word(const Table& table, std::size_t at, std::size_t w) const {
    const std::size_t bytes = tables_.word_bytes();
    std::uint64_t code = 0;
    std::uint64_t own = 0;
    std::memcpy(&code, table.planes + (w * tables_.count + at) * bytes, bytes);
    std::memcpy(&own, query_ + w * bytes, bytes);
    return code ^ own;
  }

  const Tables& tables_;
  const std::uint8_t* query_;
  double budget_;
  TableScratch& scratch_;
  Collector& collector_;
  std::size_t most_;  // of a bucket of equal codes
  double spent_ = 0;
};

}  // namespace

bool search_tables(const Tables& tables, const std::uint8_t* query, double budget, TableScratch& scratch,
                   Collector& collector) {
  return Lookup(tables, query, budget, scratch, collector).run();
}

}  // namespace bdnn
