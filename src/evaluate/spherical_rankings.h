// From codes to rankings by spherical distance (bdnn/spherical.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/blocks.h"
#include "bdnn/metrics.h"
#include "evaluate/average_precision.h"
#include "evaluate/key_levels.h"

namespace bdnn {

// As Rankings (evaluate/rankings.h), with the levels of evaluate/key_levels.h.
class SphericalRankings {
 public:
  static constexpr std::size_t kQueriesPerBlock = 16;

  struct Scratch {
    std::vector<std::uint16_t> distances;  // Hamming's
    std::vector<std::uint8_t> is_relevant;
    KeyLevels<std::uint64_t> levels;
    std::vector<std::uint32_t> level_of;  // by bits set in a code and its Hamming distance
    struct Place {
      std::size_t level;
      std::size_t place;
    };
    std::vector<Place> places;  // of the relevant codes
    TieRanking ranking;
  };

  SphericalRankings(const Codes& database, const Codes& queries, const Relevance& relevance, Ties ties);

  std::size_t relevant(std::size_t query) const;

  void for_each(Range queries, Scratch& scratch,
                const std::function<void(std::size_t query, const TieRanking& ranking)>& take) const;

 private:
  void rank(std::size_t query, Scratch& scratch) const;
  void fill_table(std::size_t query, Scratch& scratch) const;
  std::uint64_t order(std::size_t query, std::size_t ones, std::size_t distance) const;

  const Codes& database_;
  const Codes& queries_;
  const Relevance& relevance_;
  Ties ties_;
  std::vector<std::uint16_t> ones_;  // bits set in each code
  std::vector<std::uint16_t> query_ones_;
  std::vector<std::uint16_t> some_ones_;  // the numbers that occur in ones_, ascending
};

}  // namespace bdnn
