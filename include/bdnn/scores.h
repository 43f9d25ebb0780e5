// Search by score: by the distance from a query vector to what a code represents, instead of Hamming distance.
//
//     bdnn::Codes codes = bdnn::encode(model, base, {.refined = true});
//     bdnn::ScoreScan scan(model, bdnn::RankBy::reconstruction, codes);
//     bdnn::RankedResults results;
//     scan.search(queries, 10, results);
//     for (auto [id, score, distance] : results[0]) { ... }        // score: squared distance to the rebuilt vector
#pragma once

#include <cstddef>
#include <memory>

#include "bdnn/codes.h"
#include "bdnn/hidden.h"
#include "bdnn/model.h"
#include "bdnn/rank_by.h"
#include "bdnn/rerank.h"
#include "bdnn/vectors.h"

namespace bdnn {

// A model prepared for scoring codes by asymmetric distance or reconstruction: weights are packed once. Copies share
// them, and any number of threads may use the same one.
class CodeScorer {
 public:
  CodeScorer(const Model& model, RankBy by);

  RankBy by() const;

  struct State;
  const State& state() const {
    if (!state_) throw Error(Error::Kind::misuse, "the scorer was moved from; use the one it was moved to");
    return *state_;
  }

 private:
  std::shared_ptr<const State> state_;
};

// Scores the members of a shortlist (bdnn/rerank.h) by their codes. Codes of another model raise Error.
class CodeRanking final : public Ranking {
 public:
  CodeRanking(const CodeScorer& scorer, const Codes& codes, const Vectors& queries);  // code i has id i
  CodeRanking(const CodeScorer& scorer, const Index& index, const Vectors& queries);  // ids of the index
  CodeRanking(const Model& model, RankBy by, const Codes& codes, const Vectors& queries);
  CodeRanking(const Model& model, RankBy by, const Index& index, const Vectors& queries);
  ~CodeRanking() override;

  void score(std::size_t query, std::span<const Neighbour> shortlist, double* scores) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A database arranged for exhaustive search by asymmetric distance or reconstruction. It takes the memory of the codes
// plus, for reconstruction, two bytes per code. Any number of threads may search the same one. Codes of another model
// raise Error.
class ScoreScan {
 public:
  ScoreScan(const CodeScorer& scorer, const Codes& database, int threads = 0);
  ScoreScan(const Model& model, RankBy by, const Codes& database, int threads = 0);
  ~ScoreScan();
  ScoreScan(ScoreScan&&) noexcept;
  ScoreScan& operator=(ScoreScan&&) noexcept;

  std::size_t size() const;
  std::size_t bytes() const;  // of memory

  // The k nearest to each query by ascending score, then ascending id, exactly as if every score were computed; fewer
  // if the database is smaller. threads = 0: one per core. Results do not depend on it.
  void search(const Vectors& queries, std::size_t k, RankedResults& results, int threads = 0) const;

 private:
  friend class ScoreSearcher;
  struct State;
  Hidden<State> state_;
};

// Searches a ScoreScan. Like a Searcher, it owns its threads and buffers, allocates nothing once warm, and is not
// thread-safe.
class ScoreSearcher {
 public:
  explicit ScoreSearcher(int threads = 0);  // 0: one per core
  ~ScoreSearcher();
  ScoreSearcher(ScoreSearcher&&) noexcept;
  ScoreSearcher& operator=(ScoreSearcher&&) noexcept;

  // Same results as ScoreScan::search().
  void search(const ScoreScan& scan, const Vectors& queries, std::size_t k, RankedResults& results);

 private:
  struct State;
  Hidden<State> state_;
};

}  // namespace bdnn
