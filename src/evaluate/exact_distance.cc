#include "evaluate/exact_distance.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/element.h"

namespace bdnn {
namespace {

constexpr std::size_t kTogether = 4;  // chains of additions that the processor can overlap

template <class T>
double load(const std::byte* from, std::size_t i) {
  T value;
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

// out[i] = the sum of term(query[j], x_i[j]) in the order of j, for all candidates i.
template <class T, class Term>
void sums(const Vectors& database, const std::vector<double>& query, std::span<const Candidate> candidates,
          const Term& term, double* out) {
  for (std::size_t first = 0; first < candidates.size(); first += kTogether) {
    const std::size_t n = std::min(kTogether, candidates.size() - first);
    const std::byte* x[kTogether];
    for (std::size_t i = 0; i < kTogether; ++i) {
      const auto id = static_cast<std::size_t>(candidates[first + std::min(i, n - 1)].id);
      x[i] = database.data() + id * database.shape().bytes_per_vector();
    }
    double sum[kTogether] = {};
    for (std::size_t j = 0; j < query.size(); ++j) {
      for (std::size_t i = 0; i < kTogether; ++i) sum[i] += term(query[j], load<T>(x[i], j));
    }
    std::copy_n(sum, n, out + first);
  }
}

// Exact in integers, so in any order; 16,384 squares of bytes fit an int32.
double square_distance(const std::uint8_t* a, const std::uint8_t* b, std::size_t n) {
  constexpr std::size_t kPiece = 16384;
  std::int64_t total = 0;
  for (std::size_t first = 0; first < n; first += kPiece) {
    const std::size_t end = std::min(n, first + kPiece);
    std::int32_t sum = 0;
    for (std::size_t i = first; i < end; ++i) {
      const auto difference = static_cast<std::int16_t>(a[i] - b[i]);
      sum += difference * difference;
    }
    total += sum;
  }
  return static_cast<double>(total);
}

}  // namespace

void to_double(const Vectors& x, std::size_t row, double* out) {
  const std::byte* from = x.data() + row * x.shape().bytes_per_vector();
  visit_element(x.shape().element, [&](auto type) {
    using T = typename decltype(type)::type;
    for (std::size_t i = 0; i < x.dimension(); ++i) out[i] = load<T>(from, i);
  });
}

double length_of(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

void ExactDistances::set_query(const Vectors& queries, std::size_t query) {
  query_.resize(queries.dimension());
  to_double(queries, query, query_.data());
  query_length_ = length_of(query_);
  const bool bytes = queries.shape().element == Element::u8 && database_.shape().element == Element::u8;
  if (bytes) {
    query_bytes_ = reinterpret_cast<const std::uint8_t*>(queries.data() + query * queries.shape().bytes_per_vector());
  }
}

void ExactDistances::of_bytes(std::span<const Candidate> candidates, double* distances) const {
  const auto* x = reinterpret_cast<const std::uint8_t*>(database_.data());
  const std::size_t dimension = database_.dimension();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    distances[i] = square_distance(query_bytes_, x + static_cast<std::size_t>(candidates[i].id) * dimension, dimension);
  }
}

template <class T>
void ExactDistances::euclidean(std::span<const Candidate> candidates, double* distances) const {
  sums<T>(
      database_, query_, candidates, [](double q, double x) { return (q - x) * (q - x); }, distances);
}

template <class T>
void ExactDistances::cosine(std::span<const Candidate> candidates, double* distances) const {
  sums<T>(
      database_, query_, candidates, [](double q, double x) { return q * x; }, distances);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    distances[i] = 1 - distances[i] / (query_length_ * lengths_[static_cast<std::size_t>(candidates[i].id)]);
  }
}

void ExactDistances::operator()(std::span<const Candidate> candidates, double* distances) const {
  if (metric_ == Metric::euclidean && query_bytes_ != nullptr) return of_bytes(candidates, distances);
  visit_element(database_.shape().element, [&](auto type) {
    using T = typename decltype(type)::type;
    if (metric_ == Metric::euclidean) {
      euclidean<T>(candidates, distances);
    } else {
      cosine<T>(candidates, distances);
    }
  });
}

}  // namespace bdnn
