// A database as floats that are small and close to the original values, with bounds on the differences.
//
// Let x* = f x - c be a vector moved near the origin, where f is a power of two (cosine: 1 / |x|) and c a fixed centre;
// q* likewise. Then |q* - x*|^2 is, but for a factor, the distance to sort by. Products work on floats x' close to x*:
//   score(q, x) = |x'|^2 - 2 q'.x', in float, is near |q* - x*|^2 - |q'|^2.
// How close follows from |q'|, |x'|, |q' - q*|, |x' - x*|: the errors of centring are not estimated but measured,
// vector by vector. Centring matters: rounding errors grow with the lengths, and a large mean would drown the
// differences.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/blocks.h"
#include "base/threads.h"
#include "bdnn/ground_truth.h"
#include "bdnn/vectors.h"

namespace bdnn {

// Of a vector, or the largest of several.
struct Extent {
  double length = 0;  // |x'|
  double error = 0;   // |x' - x*|, or more
};

class CentredVectors {
 public:
  // Numbers that are not finite or too large to square raise Error; for the cosine, zero vectors do too.
  CentredVectors(const Vectors& database, const Vectors& queries, Metric metric, Threads& threads);

  // The database in tiles that fit the second-level cache.
  std::size_t tile_size() const { return tile_size_; }
  std::size_t tiles() const { return extents_.size(); }
  Range tile_range(std::size_t tile) const;
  // x' of a tile, column after column: in `scratch`, with room for a tile, or in place.
  const float* tile(std::size_t tile, float* scratch) const;

  // x' of `count` vectors, `step` apart.
  void sample(std::size_t first, std::size_t step, std::size_t count, float* out) const;

  const float* square_norms() const { return square_norms_.data(); }  // |x'|^2 of each vector
  const std::vector<double>& lengths() const { return lengths_; }     // |x| of each vector; for the cosine only

  // q' of a query.
  Extent centre_query(std::size_t query, float* out) const;

  // The largest difference between scores of this query and vectors of this tile and the distances in double from
  // ExactDistances, in the same units. Zero: they agree exactly.
  double error_bound(const Extent& query, std::size_t tile) const { return error_bound(query, extents_[tile]); }
  double largest_error_bound(const Extent& query) const { return error_bound(query, largest_); }

 private:
  double error_bound(const Extent& query, const Extent& x) const;
  void choose_map(std::span<const double> sum, double largest);
  void choose_bound();
  double factor(std::span<const double> lengths, std::size_t row) const;
  bool small_steps_will_do() const;
  void centre_row(std::size_t row, float* out) const;
  static void centre_carefully(const Vectors& x, std::size_t row, double factor, const std::vector<float>& centre,
                               std::vector<double>& scratch, float* out);
  Extent measure(const Vectors& x, std::size_t row, double factor, const float* centred,
                 std::vector<double>& scratch) const;
  void centre_database(Threads& threads);

  const Vectors& database_;
  const Vectors& queries_;
  Metric metric_;
  std::size_t tile_size_;
  double scale_ = 1;           // f for Euclidean distances
  bool integers_ = false;      // all x* and q* are integers times scale_
  std::vector<float> centre_;  // c
  double per_square_ = 0;      // the bound's part that grows with the square of the lengths
  double absolute_ = 0;        // its part that does not
  double no_rounding_ = 0;     // integers of shorter lengths are not rounded
  std::vector<double> lengths_, query_lengths_;
  std::vector<float> square_norms_;
  std::vector<Extent> extents_;  // per tile
  Extent largest_;
  std::shared_ptr<std::byte> copy_;  // all x', for element types that are slow to convert
};

}  // namespace bdnn
