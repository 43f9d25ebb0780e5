// The two loops of the exact neighbour search, besides the product, that benefit from SIMD.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bdnn {

// A database vector that may be among the nearest, with its approximate score: the smaller, the nearer.
struct Candidate {
  float score;
  std::int32_t id;
};

// The candidates of a block of queries. Arrays have one entry per query.
struct CandidateLists {
  std::size_t queries;       // a multiple of kQueriesTogether; the last ones may be padding
  std::size_t capacity;      // room for candidates per query
  const float* bounds;       // take scores up to this
  const std::int32_t* self;  // never take this id
  std::uint32_t* sizes;      // how many candidates there are
  Candidate* candidates;     // `capacity` per query
};

inline constexpr std::size_t kQueriesTogether = 16;

// Appends to the lists the vectors that score at most the query's bound, in ascending id. The score of query i and
// vector first_id + j is products[j * lists.queries + i] + square_norms[j]. The caller ensures that every list has room
// for `columns` more.
void collect_within(const float* products, const float* square_norms, std::size_t columns, std::int32_t first_id,
                    const CandidateLists& lists);

// out = x * factor - centre, with or without rounding of the product, depending on the machine.
void scale_and_shift(const float* x, std::size_t n, float factor, const float* centre, float* out);
void scale_and_shift(const std::uint8_t* x, std::size_t n, float factor, const float* centre, float* out);

}  // namespace bdnn
