// The two loops of the search for exact neighbours, beside the product, that turn on SIMD.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bdnn {

// A database vector that may be among the nearest, with its approximate score: the smaller, the nearer.
struct Candidate {
  float score;
  std::int32_t id;
};

// Where the candidates of a block of queries are gathered. Arrays have one entry per query.
struct CandidateLists {
  std::size_t queries;       // a multiple of kQueriesTogether, the last ones perhaps only there to fill up
  std::size_t capacity;      // room for candidates per query
  const float* bounds;       // take scores up to this
  const std::int32_t* self;  // never take this id
  std::uint32_t* sizes;      // how many candidates there are
  Candidate* candidates;     // `capacity` per query
};

inline constexpr std::size_t kQueriesTogether = 16;

// Appends to the lists what scores at most its bound, in ascending id. The score of query i and vector first_id + j is
// products[j * lists.queries + i] + square_norms[j]. The caller sees to it that `columns` more fit in every list.
void collect_within(const float* products, const float* square_norms, std::size_t columns, std::int32_t first_id,
                    const CandidateLists& lists);

// out = x * factor - centre, rounded as the machine likes it: with or without a rounding of the product.
void scale_and_shift(const float* x, std::size_t n, float factor, const float* centre, float* out);
void scale_and_shift(const std::uint8_t* x, std::size_t n, float factor, const float* centre, float* out);

}  // namespace bdnn
