// Hash tables over substrings of codes.
//
// A code is cut into substrings of consecutive bits, one hash table for each. Two codes that differ in few bits agree,
// or almost agree, in some substring, so that looking into few buckets finds all near codes (multi-index hashing:
// Norouzi, Punjani and Fleet, CVPR 2012). A table is three arrays in the order of its buckets: where each bucket
// starts, the rows of its codes (ascending within a bucket), and the codes themselves, so that a bucket is read without
// a jump per code. Codes of 16 bits or fewer have one table over the whole code, whose bucket tells the code: there the
// codes are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "bdnn/codes.h"
#include "codes/interleaved.h"

namespace bdnn {

inline constexpr std::size_t kMostBucketBits = 16;     // codes up to this length are their own bucket
inline constexpr std::size_t kMostSubstringBits = 26;  // a table has 2^bits buckets

struct HashTable {
  std::size_t first_bit = 0;
  std::size_t bits = 0;
  const std::uint64_t* occupied =
      nullptr;  // a bit per bucket: small enough for the caches, it spares most looks at starts
  const std::uint32_t* starts = nullptr;  // 2^bits + 1
  const std::uint32_t* rows = nullptr;    // as many as there are codes
  const std::uint8_t* planes = nullptr;   // word w of the i-th code in bucket order is planes[w * count + i]; or none

  std::size_t buckets() const { return std::size_t{1} << bits; }
  std::size_t occupied_words() const { return (buckets() + 63) / 64; }
  bool has(std::uint32_t bucket) const { return ((occupied[bucket / 64] >> bucket % 64) & 1) != 0; }
};

struct HashTables {
  std::size_t code_bits = 0;
  std::size_t count = 0;  // of codes
  std::vector<HashTable> tables;

  bool of_whole_codes() const { return code_bits <= kMostBucketBits; }
  std::size_t word_bytes() const { return code_bits <= 32 ? 4 : 8; }
  // Of the codes in bucket order, with room behind them for the vector that reads the last.
  std::size_t plane_bytes() const { return count * words() * word_bytes() + kLine; }
  std::size_t words() const { return (code_bits + 8 * word_bytes() - 1) / (8 * word_bytes()); }
};

// How many substrings n codes of that length are cut into: about as many as make a bucket hold a few codes.
std::size_t substring_count(std::size_t code_bits, std::size_t n);

// Substring j of `count`, [first, first + bits). They are as even as possible, but for two: to have met all within two
// bits takes all buckets at distance 1 of the first table and one bucket of the second, so the first is longer.
struct Substring {
  std::size_t first = 0;
  std::size_t bits = 0;
};
Substring substring_of(std::size_t code_bits, std::size_t j, std::size_t count);

// One hash table with its arrays: first the buckets are counted, then filled.
struct BuiltHashTable {
  Substring substring;
  std::vector<std::uint64_t> occupied;
  std::vector<std::uint32_t> starts;
  std::vector<std::uint32_t> rows;
  std::vector<std::uint8_t> planes;
};
HashTable view_of(const BuiltHashTable& built);
BuiltHashTable count_buckets(const Codes& codes, const Substring& substring);
void fill_hash_table(const Codes& codes, Threads& threads, BuiltHashTable& table);

}  // namespace bdnn
