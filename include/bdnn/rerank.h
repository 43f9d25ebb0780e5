// Reranking: a shortlist by Hamming distance, sorted by a more exact distance.
//
//     searcher.search(index, query_codes, {.k = 1000}, shortlists);
//     bdnn::VectorRanking by_vectors("base.fvecs", queries);       // base.fvecs holds vector i for id i
//     bdnn::Reranker().rank(shortlists, by_vectors, 10, ranked);
//     for (auto [id, score, distance] : ranked[0]) { ... }         // score: squared Euclidean distance
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bdnn/hidden.h"
#include "bdnn/index.h"
#include "bdnn/results.h"
#include "bdnn/vectors.h"

namespace bdnn {

// Scores the members of a shortlist. Derive from it for a distance of your own, or a cross-encoder's score;
// bdnn/scores.h has the distance to rebuilt vectors.
class Ranking {
 public:
  virtual ~Ranking() = default;

  // Sets scores[i] for shortlist[i] and query number `query`; smaller is nearer. Called from several threads at once.
  virtual void score(std::size_t query, std::span<const Neighbour> shortlist, double* scores) const = 0;
};

// Scores by squared Euclidean distance to the original vectors, which are read from their mapped file or from memory.
class VectorRanking final : public Ranking {
 public:
  // `path`: .fvecs, .bvecs, .ivecs or .npy in C order, of float or uint8; vector i belongs to id i.
  VectorRanking(const std::string& path, const Vectors& queries);

  // The same for results of `index`, whose keys may be names: vector i belongs to key i. Keys that the index does not
  // have are ignored.
  VectorRanking(const std::string& path, const Vectors& queries, const Index& index, const IndexKeys& keys);

  // The same with vectors in memory, of float or uint8.
  VectorRanking(const Vectors& vectors, const Vectors& queries);
  VectorRanking(const Vectors& vectors, const Vectors& queries, const Index& index, const IndexKeys& keys);
  ~VectorRanking() override;

  void score(std::size_t query, std::span<const Neighbour> shortlist, double* scores) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct Ranked {
  std::uint64_t id = 0;
  double score = 0;
  std::uint32_t distance = 0;  // Hamming distance, as in the shortlist

  bool operator==(const Ranked&) const = default;
};

using RankedResults = ResultLists<Ranked>;

// Sorts shortlists. Like a Searcher, it owns its threads and buffers, allocates nothing once warm, and is not
// thread-safe.
class Reranker {
 public:
  explicit Reranker(int threads = 0);  // 0: one per core
  ~Reranker();
  Reranker(Reranker&&) noexcept;
  Reranker& operator=(Reranker&&) noexcept;

  // The k best of each shortlist, by ascending score, then ascending id.
  void rank(const Results& shortlists, const Ranking& ranking, std::size_t k, RankedResults& results);

 private:
  struct State;
  Hidden<State> state_;
};

// The same for a single call.
void rerank(const Results& shortlists, const Ranking& ranking, std::size_t k, int threads, RankedResults& results);

}  // namespace bdnn
