// Distances in double, which decide the order of neighbours.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "bdnn/ground_truth.h"
#include "bdnn/vectors.h"
#include "evaluate/select_kernel.h"

namespace bdnn {

// Vector `row` as doubles, in `out`, which has room for x.dimension().
void to_double(const Vectors& x, std::size_t row, double* out);

// Distances of one query to database vectors.
//   euclidean: the sum of the squares of the differences; cosine: 1 - dot / (|q| |x|). All sums in index order.
class ExactDistances {
 public:
  // `lengths` of the database vectors are for the cosine only. The arguments are not copied.
  ExactDistances(const Vectors& database, Metric metric, const std::vector<double>& lengths)
      : database_(database), metric_(metric), lengths_(lengths) {}

  void set_query(const Vectors& queries, std::size_t query);

  // distances[i] belongs to candidates[i].
  void operator()(std::span<const Candidate> candidates, double* distances) const;

 private:
  template <class T>
  void euclidean(std::span<const Candidate> candidates, double* distances) const;
  template <class T>
  void cosine(std::span<const Candidate> candidates, double* distances) const;
  void of_bytes(std::span<const Candidate> candidates, double* distances) const;

  const Vectors& database_;
  Metric metric_;
  const std::vector<double>& lengths_;
  std::vector<double> query_;
  double query_length_ = 0;
  const std::uint8_t* query_bytes_ = nullptr;  // if both sides are bytes, so that integers suffice
};

// The square root of the sum of squares, in index order.
double length_of(std::span<const double> x);

}  // namespace bdnn
