// The measures of one ranking with ties, in time proportional to its number of distances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bdnn/metrics.h"

namespace bdnn {

// All codes at one distance from a query.
struct TieLevel {
  std::size_t size = 0;
  std::size_t relevant = 0;
};

struct TieRanking {
  std::vector<TieLevel> levels = {};  // one per distance, from 0
  std::size_t relevant = 0;           // in all levels

  // Places are counted from 1 within a level, in the order of the database, and are known for Ties::order only.
  std::vector<std::uint32_t> places = {};  // of the relevant: level after level, ascending in each
  struct Nearest {
    std::size_t distance = 0;
    std::size_t place = 0;
  };
  std::optional<Nearest> nearest = {};  // where the true nearest neighbour is
};

// Sums of 1/i. A difference of two of them is accurate to the last digits even if they are large and close, which
// takes two doubles each.
class HarmonicNumbers {
 public:
  explicit HarmonicNumbers(std::size_t largest);

  // 1/(from + 1) + ... + 1/to, for from <= to <= largest.
  double between(std::size_t from, std::size_t to) const {
    return (sums_[to].high - sums_[from].high) + (sums_[to].low - sums_[from].low);
  }

 private:
  struct Sum {
    double high = 0;
    double low = 0;
  };
  std::vector<Sum> sums_;
};

struct AveragePrecision {
  double standard = 0;
  double trapezoid = 0;
};

// Over the first `cutoff` ranks; `harmonic` must cover the smaller of the cutoff and the size of the ranking. 0 if
// nothing is relevant.
AveragePrecision average_precision(const TieRanking& ranking, Ties ties, std::size_t cutoff,
                                   const HarmonicNumbers& harmonic);

// How many relevant ones are among the first k: their expected number for Ties::expected.
double relevant_among_first(const TieRanking& ranking, Ties ties, std::size_t k);

// Whether ranking.nearest is among the first k: 0, 1, or for Ties::expected its probability.
double nearest_among_first(const TieRanking& ranking, Ties ties, std::size_t k);

}  // namespace bdnn
