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

// The same for codes of 4, 8, 16 or 32 bytes with AVX2, by tables of the values of each byte of a code for 32 queries
// side by side, which are made first: the least distance of each query, which nobody looks at. What is left of
// query_count after the last 32 is left out.
std::uint64_t bare_tables(const std::uint8_t* codes, std::size_t count, std::size_t bytes, const std::uint8_t* queries,
                          std::size_t query_count);

// Every byte read once.
std::uint64_t bare_read(const std::uint8_t* codes, std::size_t bytes);

}  // namespace bdnn::bench
