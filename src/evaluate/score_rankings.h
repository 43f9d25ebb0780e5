// From scores to rankings: codes ordered by a distance that is not a whole number (bdnn/scores.h).
#pragma once

#include <functional>
#include <vector>

#include "base/blocks.h"
#include "base/threads.h"
#include "bdnn/metrics.h"
#include "bdnn/vectors.h"
#include "coding/code_scores.h"
#include "evaluate/average_precision.h"
#include "evaluate/key_levels.h"

namespace bdnn {

// As Rankings (evaluate/rankings.h), with the levels of evaluate/key_levels.h.
class ScoreRankings {
 public:
  static constexpr std::size_t kQueriesPerBlock = 16;

  struct Scratch {
    std::vector<double> scores;
    KeyLevels<double> levels;
    std::vector<std::uint8_t> is_relevant;
    TieRanking ranking;
  };

  ScoreRankings(const CodeScores& scores, const Codes& database, const Vectors& queries, const Relevance& relevance,
                Threads& threads);

  std::size_t relevant(std::size_t query) const;

  void for_each(Range queries, Scratch& scratch,
                const std::function<void(std::size_t query, const TieRanking& ranking)>& take) const;

 private:
  void rank(std::size_t query, const LookupTables& tables, Scratch& scratch) const;

  const CodeScores& scores_;
  const Codes& database_;
  const Vectors& queries_;
  const Relevance& relevance_;
  std::vector<double> norms_;
};

}  // namespace bdnn
