// Sums of small lookup tables over pieces of codes, of four or eight bits: the scan by score. Either the codes are the
// lanes of a vector, 64 at a time, and shuffles look up their values, or the queries are, up to 32 of them, and each
// byte of a code selects a vector of values in memory. A shuffle selects among 16 values, or among 128 with AVX-512
// VBMI; without that, the second way is by far the faster one for 256 values, given enough queries.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bdnn {

// Codes of `rows` bytes are stored in blocks of 64: first the 64 first bytes, then the 64 second bytes, and so on.
inline constexpr std::size_t kCodesPerLookupBlock = 64;
inline constexpr std::size_t kQueriesPerLookupScan = 4;

// The number of bits of a code that select a value from a lookup table.
enum class LookupWidth : std::uint8_t { four_bits, eight_bits };
inline constexpr std::size_t values_per_byte(LookupWidth width) { return width == LookupWidth::four_bits ? 32 : 256; }

// One query's lookup tables: 16 values for the lower four bits of a code's first byte, 16 for its upper four bits, then
// those of the second byte, and so on; or 256 values for each byte. Sums saturate at 255.
struct ByteLookupTables {
  const std::uint8_t* values;
  std::uint8_t limit;  // at most 254
  std::uint32_t*
      found;  // receives, ascending, the codes whose sum is at most the limit, counted from the first block's
  std::size_t found_count;
};

// Scans `blocks` blocks for up to kQueriesPerLookupScan queries. `found` has room for all codes of the blocks.
void scan_lookup_sums(LookupWidth width, const std::uint8_t* codes, std::size_t rows, std::size_t blocks,
                      ByteLookupTables* queries, std::size_t query_count);

// The sums themselves, of one query: 64 per block.
void sum_lookup_tables(LookupWidth width, const std::uint8_t* codes, std::size_t rows, std::size_t blocks,
                       const std::uint8_t* values, std::uint8_t* sums);

inline constexpr std::size_t kQueriesPerSharedScan = 32;

// Whether shared lookup tables are faster for this many queries on this machine.
bool shares_lookup_tables(LookupWidth width, std::size_t rows, std::size_t query_count);

// The same for up to kQueriesPerSharedScan queries and bytes of codes: for each byte, for each of its 256 values,
// `values` has 32 numbers, one per query, at a multiple of 32 bytes; the queries' own `values` are not read. The
// numbers of missing queries are arbitrary.
void scan_shared_lookup_sums(const std::uint8_t* codes, std::size_t rows, std::size_t blocks,
                             const std::uint8_t* values, ByteLookupTables* queries, std::size_t query_count);

// 32 sums for each code.
void sum_shared_lookup_tables(const std::uint8_t* codes, std::size_t rows, std::size_t blocks,
                              const std::uint8_t* values, std::uint8_t* sums);

}  // namespace bdnn
