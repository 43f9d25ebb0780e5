// What the machine cannot be beaten at: the loops that a search needs at the least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bdnn::bench {

// Differing bits of `queries` codes and everything in [codes, codes + bytes), by words of 8 bytes, several queries per
// load and a block of the second-level cache at a time: distances that nobody looks at. `target` is a SIMD target that
// the machine has; the loop is the best we know for its instructions.
std::uint64_t bare_popcounts(const std::string& target, const std::uint8_t* codes, std::size_t bytes,
                             const std::uint64_t* words, std::size_t queries);

// The same for codes of 4, 8, 16 or 32 bytes with AVX2 or SSSE3, by lookup tables of the bytes of a code for 32
// queries side by side, which are made first: the least distance of each query, which nobody looks at. What is left of
// query_count after the last 32 is left out.
std::uint64_t bare_lookup(const std::string& target, const std::uint8_t* codes, std::size_t count, std::size_t bytes,
                          const std::uint8_t* queries, std::size_t query_count);

// Multiply-adds of floats in registers, as fast as the instructions of `target` go: returns how many operations that
// was, a multiply-add being two.
double bare_multiply_adds(const std::string& target);

// h = 1 / (1 + exp(-(h + bias))) of `count` floats, accurate to 1e-6, with AVX2 and FMA.
void bare_sigmoids(float bias, std::size_t count, float* h);

// sum[i] += plus[i] - minus[i], with AVX2; count is a multiple of 8.
void bare_exchange(const float* plus, const float* minus, std::size_t count, float* sum);

// The largest of `count` floats, with AVX2; count is a multiple of 16.
float bare_most(const float* values, std::size_t count);

// The bits in which `count` words of 4 or 8 bytes differ from the word at `query`.
std::uint64_t bare_differing(const std::uint8_t* words, std::size_t count, const std::uint8_t* query,
                             std::size_t word_bytes);

// Every byte read once.
std::uint64_t bare_read(const std::uint8_t* codes, std::size_t bytes);

}  // namespace bdnn::bench
