// From codes to rankings: one pass over the database counts its distances to a query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/blocks.h"
#include "bdnn/metrics.h"
#include "evaluate/average_precision.h"

namespace bdnn {

// The codes and the relevance must be consistent (evaluate_codes() checks) and outlive this object.
class Rankings {
 public:
  // Queries that scan the database together, so that it is read from memory once for all of them.
  static constexpr std::size_t kQueriesPerBlock = 16;

  // A thread's working memory, kept between blocks.
  struct Scratch {
    std::vector<std::uint16_t> distances;
    std::vector<std::uint32_t> counts;
    std::vector<std::uint8_t> codes;
    std::vector<std::uint32_t> places;  // of the codes of a piece
    struct Found {
      std::uint16_t distance;
      std::uint32_t place;
    };
    struct Placing {  // the relevant codes of one query, by position, and where they were found
      std::vector<std::uint32_t> ids;
      std::size_t next = 0;
      std::vector<Found> found;
    };
    std::vector<Placing> placings;
    TieRanking ranking;
  };

  Rankings(const Codes& database, const Codes& queries, const Relevance& relevance, Ties ties);

  // The number of codes that are relevant to a query.
  std::size_t relevant(std::size_t query) const;

  // Calls take(query, ranking) for each of at most kQueriesPerBlock queries, in their order.
  void for_each(Range queries, Scratch& scratch,
                const std::function<void(std::size_t query, const TieRanking& ranking)>& take) const;

 private:
  std::int64_t self(std::size_t query) const { return relevance_.self.empty() ? -1 : relevance_.self[query]; }
  std::size_t distance(std::size_t query, std::size_t id) const;
  Range same_label(std::size_t query) const;
  bool leaves_out_relevant(std::size_t query) const;
  std::span<const std::int32_t> neighbours(std::size_t query) const;

  void find_distinct_codes();
  void count(Range queries, Scratch& scratch) const;
  void count_distinct(Range queries, Scratch& scratch) const;
  void rank(std::size_t query, std::size_t slot, Scratch& scratch) const;
  void count_in_order(Range queries, Scratch& scratch) const;
  void rank_in_order(std::size_t query, std::size_t slot, Scratch& scratch) const;
  void start_placing(std::size_t query, Scratch::Placing& placing) const;

  const Codes& database_;
  const Codes& queries_;
  const Relevance& relevance_;
  const Relevance::Labels* labels_;  // null: lists of neighbours
  Ties ties_;
  std::vector<std::uint32_t> by_label_;       // positions in the database, label after label, ascending in each
  std::vector<std::int64_t> sorted_labels_;   // of by_label_
  std::vector<std::uint8_t> codes_by_label_;  // so that relevant codes are adjacent
  std::vector<std::uint8_t> distinct_codes_;  // short codes repeat: each is compared once and counts ...
  std::vector<std::uint32_t> repeats_;        // ... this many times; empty if comparing all is as fast
};

}  // namespace bdnn
