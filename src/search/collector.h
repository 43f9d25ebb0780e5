// The k nearest so far, or all within a radius.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "codes/hamming_scan.h"

namespace bdnn {

// What is asked of every query of a search.
struct Question {
  std::size_t k = 0;
  std::optional<std::size_t> radius = {};  // where set, all within it instead of the k nearest
};

// The rows that may be returned. Bit i % 64 of word i / 64 stands for row i; where a bitmap is null, all may.
struct RowFilter {
  std::size_t rows = 0;
  const std::uint64_t* live = nullptr;     // not removed
  const std::uint64_t* allowed = nullptr;  // asked for

  bool restricts() const { return live != nullptr || allowed != nullptr; }
  // The rows [64 * word, 64 * word + 64) that may be returned.
  std::uint64_t word(std::size_t word) const {
    return (live == nullptr ? ~std::uint64_t{0} : live[word]) &
           (allowed == nullptr ? ~std::uint64_t{0} : allowed[word]);
  }
  bool has(std::uint32_t row) const { return row < rows && ((word(row / 64) >> row % 64) & 1) != 0; }
};

// The order in which a plan meets rows decides what it may leave out: by ascending row, one that is only as near as the
// k-th comes too late; in any order, it may have the smaller row.
enum class Arrival { ascending, any };

// A counter per distance tells the distance of the k-th nearest, so no heap is kept.
class Collector {
 public:
  // Rows farther than `within` are left out, which spares the look at many; it is right if kth() comes out within it.
  void start(const Question& question, std::size_t bits, Arrival arrival, const RowFilter& filter, std::size_t within);
  std::size_t within() const { return within_; }

  // How many of the k were found so far, more if several are as far as the last; and the distance of the k-th.
  std::size_t found() const { return found_; }
  std::size_t kth() const { return found_ >= k_ ? worst_ : kNone; }
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  // Only rows nearer than this are still wanted.
  std::uint32_t below() const { return below_; }

  std::uint32_t take(const Hit* hits, std::size_t count);
  static std::uint32_t sink(void* collector, const Hit* hits, std::size_t count) {
    return static_cast<Collector*>(collector)->take(hits, count);
  }

  // Of rows at the same distance that come in ascending order, no more than this many matter.
  std::size_t most_of_a_distance() const {
    return filter_.restricts() ? filter_.rows : k_;  // a filter may refuse the first of them
  }

  // What was kept so far, in the order of arrival; some of it may have been outdone since.
  std::span<const Hit> candidates() const { return candidates_; }

  // What was found, by distance, then row. It lives until the next start().
  std::span<const Hit> finish();

 private:
  void drop_stale();

  std::size_t k_ = 0;
  std::size_t within_ = 0;
  std::size_t worst_ = 0;  // the distance of the k-th nearest, once there are k
  std::size_t found_ = 0;  // how many candidates are within worst_
  std::uint32_t below_ = 0;
  Arrival arrival_ = Arrival::ascending;
  RowFilter filter_;
  std::vector<std::size_t> counts_;  // of candidates, per distance
  std::vector<Hit> candidates_;
  std::vector<Hit> sorted_;
};

}  // namespace bdnn
