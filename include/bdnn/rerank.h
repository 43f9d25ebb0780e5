// A shortlist by Hamming distance, put in order by a better judge.
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

#include "bdnn/index.h"
#include "bdnn/results.h"
#include "bdnn/vectors.h"

namespace bdnn {

// Judges how near the members of a shortlist are to a query. Derive from it for another measure: the distance to what a
// decoder makes of a code, or a cross-encoder's opinion.
class Ranking {
 public:
  virtual ~Ranking() = default;

  // scores[i] for shortlist[i] and query number `query`: the smaller, the nearer. Several threads call it at once.
  virtual void score(std::size_t query, std::span<const Neighbour> shortlist, double* scores) const = 0;
};

// By the squared Euclidean distance of the original vectors, which stay in their file and are read where they stand.
class VectorRanking final : public Ranking {
 public:
  // `path`: .fvecs, .bvecs, .ivecs or .npy in C order, of float or uint8; its vector i is that of id i.
  VectorRanking(const std::string& path, const Vectors& queries);
  ~VectorRanking() override;

  void score(std::size_t query, std::span<const Neighbour> shortlist, double* scores) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct Ranked {
  std::uint64_t id = 0;
  double score = 0;
  std::uint32_t distance = 0;  // by Hamming, as in the shortlist

  bool operator==(const Ranked&) const = default;
};

using RankedResults = ResultLists<Ranked>;

// Puts shortlists in order. As a Searcher, it owns its threads and buffers and allocates nothing once warm; one thread
// may use it at a time.
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
  std::unique_ptr<State> state_;
};

// The same, once.
void rerank(const Results& shortlists, const Ranking& ranking, std::size_t k, int threads, RankedResults& results);

}  // namespace bdnn
