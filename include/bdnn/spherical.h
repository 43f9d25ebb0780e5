// Spherical Hamming distance (Heo, Lee, He, Chang and Yoon, CVPR 2012): the bits in which two codes differ, divided by
// the bits set in both,
//
//     d(a, b) = |a xor b| / |a and b|.
//
// Codes that lie inside the same spheres are near; being outside the same spheres says little. It was designed for
// codes of the method sph and is defined for any codes. Where no bit is set in both, the empty intersection counts as 1
// / (L + 1) of a bit: unequal codes are then farther than any two that share a bit, and among themselves ordered by
// Hamming distance. Equal codes have distance 0, even where no bit is set.
//
//     bdnn::SphericalScan scan(codes);
//     bdnn::RankedResults results;
//     scan.search(query_codes, 10, results);
//     for (auto [id, score, distance] : results[0]) { ... }        // score: spherical, distance: Hamming
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "bdnn/codes.h"
#include "bdnn/hidden.h"
#include "bdnn/rerank.h"

namespace bdnn {

// The distance of two codes of L = `bits` bits that differ in `differing` bits and have `common` set in both. Values
// compare as the exact fractions do: equal fractions give equal values, and rounding never makes others equal.
double spherical_distance(std::size_t differing, std::size_t common, std::size_t bits);

// A database arranged for exhaustive search by spherical distance. It takes the memory of the codes plus four bytes per
// code; at most 2^32 - 1 codes. Any number of threads may search the same one.
class SphericalScan {
 public:
  explicit SphericalScan(const Codes& database, int threads = 0);
  ~SphericalScan();
  SphericalScan(SphericalScan&&) noexcept;
  SphericalScan& operator=(SphericalScan&&) noexcept;

  std::size_t size() const;

  // The k nearest to each query by ascending distance, then ascending id, exactly as if every distance were computed;
  // fewer if the database is smaller. Queries of another length or model raise Error. threads = 0: one per core.
  // Results do not depend on it.
  void search(const Codes& queries, std::size_t k, RankedResults& results, int threads = 0) const;

 private:
  friend class SphericalSearcher;
  struct State;
  Hidden<State> state_;
};

// Searches a SphericalScan. Like a Searcher, it owns its threads and buffers, allocates nothing once warm, and is not
// thread-safe.
class SphericalSearcher {
 public:
  explicit SphericalSearcher(int threads = 0);  // 0: one per core
  ~SphericalSearcher();
  SphericalSearcher(SphericalSearcher&&) noexcept;
  SphericalSearcher& operator=(SphericalSearcher&&) noexcept;

  // Same results as SphericalScan::search().
  void search(const SphericalScan& scan, const Codes& queries, std::size_t k, RankedResults& results);

 private:
  struct State;
  Hidden<State> state_;
};

// Scores the members of a shortlist (bdnn/rerank.h) by spherical distance.
class SphericalRanking final : public Ranking {
 public:
  SphericalRanking(const Codes& codes, const Codes& queries);  // code i has id i
  SphericalRanking(const Index& index, const Codes& queries);  // ids of the index
  ~SphericalRanking() override;

  void score(std::size_t query, std::span<const Neighbour> shortlist, double* scores) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bdnn
