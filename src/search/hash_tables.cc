#include "search/hash_tables.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "search/queries.h"

namespace bdnn {
namespace {

// As substring(), for a code that may be the last thing in memory.
std::uint32_t key_of(const Codes& codes, std::size_t i, const Substring& part) {
  const auto code = codes[i];
  const std::size_t byte = part.first / 8;
  std::uint64_t word = 0;
  std::memcpy(&word, code.data() + byte, std::min<std::size_t>(code.size() - byte, sizeof word));
  return static_cast<std::uint32_t>((word >> part.first % 8) & ((std::uint64_t{1} << part.bits) - 1));
}

}  // namespace

std::size_t substring_count(std::size_t code_bits, std::size_t n) {
  if (code_bits <= kMostBucketBits) return 1;
  const auto log = std::clamp<std::size_t>(std::bit_width(n), 8, kMostSubstringBits);
  return std::max<std::size_t>((code_bits + log / 2) / log, (code_bits + kMostSubstringBits - 1) / kMostSubstringBits);
}

Substring substring_of(std::size_t code_bits, std::size_t j, std::size_t count) {
  // Bits that are left over go to the first ones, which a search looks into before the others.
  const auto end = [&](std::size_t number) {
    const std::size_t even = (code_bits * number + count - 1) / count;
    return count == 2 && number == 1 ? std::min(even + 1, kMostSubstringBits) : even;
  };
  return {end(j), end(j + 1) - end(j)};
}

HashTable view_of(const BuiltHashTable& built) {
  return {built.substring.first, built.substring.bits, built.occupied.data(),
          built.starts.data(),   built.rows.data(),    built.planes.empty() ? nullptr : built.planes.data()};
}

BuiltHashTable count_buckets(const Codes& codes, const Substring& part) {
  const std::size_t buckets = std::size_t{1} << part.bits;
  BuiltHashTable table{
      part, std::vector<std::uint64_t>((buckets + 63) / 64), std::vector<std::uint32_t>(buckets + 1), {}, {}};
  for (std::size_t i = 0; i < codes.size(); ++i) ++table.starts[key_of(codes, i, part) + 1];
  for (std::size_t b = 0; b < buckets; ++b) {
    if (table.starts[b + 1] > 0) table.occupied[b / 64] |= std::uint64_t{1} << b % 64;
    table.starts[b + 1] += table.starts[b];
  }
  return table;
}

void fill_hash_table(const Codes& codes, Threads& threads, BuiltHashTable& table) {
  const std::size_t n = codes.size();
  const std::size_t buckets = table.starts.size() - 1;
  const HashTables shape{codes.bits(), n, {}};
  const std::size_t word_bytes = shape.word_bytes();
  table.rows.resize(n);
  if (!shape.of_whole_codes()) table.planes.resize(shape.plane_bytes());
  const auto place = [&](std::size_t i, std::size_t at) {
    table.rows[at] = static_cast<std::uint32_t>(i);
    if (table.planes.empty()) return;
    const auto code = codes[i];
    for (std::size_t w = 0; w * word_bytes < code.size(); ++w) {
      std::memcpy(&table.planes[(w * n + at) * word_bytes], code.data() + w * word_bytes,
                  std::min(word_bytes, code.size() - w * word_bytes));
    }
  };
  // Each thread fills a range of buckets of its own, in ascending row.
  const auto team = static_cast<std::size_t>(threads.count());
  std::vector<std::uint32_t> next(table.starts.begin(), table.starts.end() - 1);
  threads.for_each(team, [&](std::size_t share, int) {
    const auto bound = [&](std::size_t s) {
      const auto at = std::lower_bound(table.starts.begin(), table.starts.end() - 1, n * s / team);
      return s == team ? buckets : static_cast<std::size_t>(at - table.starts.begin());
    };
    const std::size_t from = bound(share);
    const std::size_t to = bound(share + 1);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t key = key_of(codes, i, table.substring);
      if (key >= from && key < to) place(i, next[key]++);
    }
  });
}

}  // namespace bdnn
