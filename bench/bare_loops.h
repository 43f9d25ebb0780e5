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

// Every byte read once.
std::uint64_t bare_read(const std::uint8_t* codes, std::size_t bytes);

}  // namespace bdnn::bench
