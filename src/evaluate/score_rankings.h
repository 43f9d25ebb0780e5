// From scores to rankings: codes in the order of a distance that is no whole number (bdnn/scores.h).
#pragma once

#include <functional>
#include <vector>

#include "base/blocks.h"
#include "base/threads.h"
#include "bdnn/metrics.h"
#include "bdnn/vectors.h"
#include "coding/code_scores.h"
#include "evaluate/average_precision.h"

namespace bdnn {

// As Rankings (evaluate/rankings.h), but a level holds what scores the same as some relevant code, or lies between two
// such scores: in what order the irrelevant ones in between come makes no difference.
class ScoreRankings {
 public:
  static constexpr std::size_t kQueriesPerBlock = 16;

  struct Scratch {
    std::vector<double> scores;
    std::vector<double> relevant;  // scores of the relevant codes, ascending, each once
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
  std::int64_t self(std::size_t query) const { return relevance_.self.empty() ? -1 : relevance_.self[query]; }

  const CodeScores& scores_;
  const Codes& database_;
  const Vectors& queries_;
  const Relevance& relevance_;
  std::vector<double> norms_;
};

}  // namespace bdnn
