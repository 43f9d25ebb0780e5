#include "bare_loops.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace bdnn::bench {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 19;
constexpr std::size_t kTogether = 4;

// The machine fetches ahead within a page; in several at a time, it is busiest.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 8;

__attribute__((target("avx512f"))) std::uint64_t read_pages_512(const std::uint8_t* codes) {
  __m512i sums[kPages];
  for (auto& sum : sums) sum = _mm512_setzero_si512();
  for (std::size_t at = 0; at < kPage; at += 128) {
    for (std::size_t page = 0; page < kPages; ++page) {
      const std::uint8_t* from = codes + page * kPage + at;
      sums[page] = _mm512_xor_si512(sums[page], _mm512_loadu_si512(from));
      sums[page] = _mm512_xor_si512(sums[page], _mm512_loadu_si512(from + 64));
    }
  }
  for (std::size_t page = 1; page < kPages; ++page) sums[0] = _mm512_xor_si512(sums[0], sums[page]);
  return static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sums[0]));
}

std::uint64_t read_pages(const std::uint8_t* codes) {
  std::uint64_t sums[kPages] = {};
  for (std::size_t at = 0; at < kPage; at += 64) {
    for (std::size_t page = 0; page < kPages; ++page) {
      std::uint64_t words[8];
      std::memcpy(words, codes + page * kPage + at, sizeof words);
      for (const std::uint64_t word : words) sums[page] ^= word;
    }
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total ^= sum;
  return total;
}

using PopcountsOfFour = std::uint64_t(const std::uint8_t* codes, std::size_t bytes, const std::uint64_t* words);

__attribute__((target("avx512f,avx512vpopcntdq"))) std::uint64_t by_lanes(const std::uint8_t* codes, std::size_t bytes,
                                                                          const std::uint64_t* words) {
  __m512i sums[kTogether];
  __m512i queries[kTogether];
  for (std::size_t q = 0; q < kTogether; ++q) {
    sums[q] = _mm512_setzero_si512();
    queries[q] = _mm512_set1_epi64(static_cast<long long>(words[q]));
  }
  for (std::size_t at = 0; at + 64 <= bytes; at += 64) {
    const __m512i code = _mm512_loadu_si512(codes + at);
    for (std::size_t q = 0; q < kTogether; ++q) {
      sums[q] = _mm512_add_epi64(sums[q], _mm512_popcnt_epi64(_mm512_xor_si512(code, queries[q])));
    }
  }
  std::uint64_t total = 0;
  for (const auto& sum : sums) total += static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sum));
  return total;
}

// By table lookup of half bytes. Counts are kept in bytes for as many vectors as bytes can count.
__attribute__((target("avx2"))) std::uint64_t by_half_bytes_256(const std::uint8_t* codes, std::size_t bytes,
                                                                const std::uint64_t* words) {
  constexpr std::size_t kVector = 32;
  constexpr std::size_t kMost = 31 * kVector;                                              // at most 8 bits in a byte
  const __m256i counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                          0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i half = _mm256_set1_epi8(15);
  __m256i queries[kTogether];
  for (std::size_t q = 0; q < kTogether; ++q) queries[q] = _mm256_set1_epi64x(static_cast<long long>(words[q]));
  __m256i total = _mm256_setzero_si256();
  const std::size_t whole = bytes / kVector * kVector;
  for (std::size_t from = 0; from < whole; from += kMost) {
    __m256i sums[kTogether];
    for (auto& sum : sums) sum = _mm256_setzero_si256();
    for (std::size_t at = from; at < std::min(from + kMost, whole); at += kVector) {
      const __m256i code = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + at));
      for (std::size_t q = 0; q < kTogether; ++q) {
        const __m256i bits = _mm256_xor_si256(code, queries[q]);
        const __m256i low = _mm256_shuffle_epi8(counts, _mm256_and_si256(bits, half));
        const __m256i high = _mm256_shuffle_epi8(counts, _mm256_and_si256(_mm256_srli_epi16(bits, 4), half));
        sums[q] = _mm256_add_epi8(sums[q], _mm256_add_epi8(low, high));
      }
    }
    for (const auto& sum : sums) total = _mm256_add_epi64(total, _mm256_sad_epu8(sum, _mm256_setzero_si256()));
  }
  std::uint64_t lanes[4];
  std::memcpy(lanes, &total, sizeof lanes);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

// A scalar count per word, which CPUs without AVX2 do as fast as shuffles of 16 bytes.
__attribute__((target("popcnt"))) std::uint64_t by_words(const std::uint8_t* codes, std::size_t bytes,
                                                         const std::uint64_t* words) {
  std::uint64_t total = 0;
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    std::uint64_t code;
    std::memcpy(&code, codes + at, sizeof code);
    for (std::size_t q = 0; q < kTogether; ++q) total += static_cast<std::uint64_t>(std::popcount(code ^ words[q]));
  }
  return total;
}

PopcountsOfFour& popcounts_of_four(const std::string& target) {
  if (target == "AVX3_DL") return by_lanes;
  if (target == "AVX3" || target == "AVX2") return by_half_bytes_256;
  return by_words;
}

constexpr std::size_t kPerTable = 32;

// The least distance of the codes to each of 32 queries, by tables of the values of each byte of a code.
template <std::size_t kBytes>
__attribute__((target("avx2"))) std::uint64_t by_tables_256(const std::uint8_t* codes, std::size_t count,
                                                            const std::uint8_t* tables) {
  constexpr std::size_t kCodes = 8;
  __m256i least = _mm256_set1_epi8(-1);
  for (std::size_t i = 0; i + kCodes <= count; i += kCodes) {
    __m256i sums[kCodes];
    for (auto& sum : sums) sum = _mm256_setzero_si256();
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      for (std::size_t c = 0; c < kCodes; ++c) {
        const std::size_t value = codes[(i + c) * kBytes + byte];
        const auto* at = reinterpret_cast<const __m256i*>(tables + (byte * 256 + value) * kPerTable);
        sums[c] = _mm256_adds_epu8(sums[c], _mm256_load_si256(at));
      }
    }
    for (const auto& sum : sums) least = _mm256_min_epu8(least, sum);
  }
  std::uint64_t lanes[4];
  std::memcpy(lanes, &least, sizeof lanes);
  return lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3];
}

}  // namespace

std::uint64_t bare_tables(const std::uint8_t* codes, std::size_t count, std::size_t bytes, const std::uint8_t* queries,
                          std::size_t query_count) {
  const auto run = bytes == 4    ? by_tables_256<4>
                   : bytes == 8  ? by_tables_256<8>
                   : bytes == 16 ? by_tables_256<16>
                                 : by_tables_256<32>;
  std::vector<std::uint8_t> room(bytes * 256 * kPerTable + 64);
  std::uint8_t* tables = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
  std::uint64_t total = 0;
  for (std::size_t first = 0; first + kPerTable <= query_count; first += kPerTable) {
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      for (unsigned value = 0; value < 256; ++value) {
        for (std::size_t q = 0; q < kPerTable; ++q) {
          const std::uint8_t own = queries[(first + q) * bytes + byte];
          tables[(byte * 256 + value) * kPerTable + q] = static_cast<std::uint8_t>(std::popcount(own ^ value));
        }
      }
    }
    total += run(codes, count, tables);
  }
  return total;
}

std::uint64_t bare_popcounts(const std::string& target, const std::uint8_t* codes, std::size_t bytes,
                             const std::uint64_t* words, std::size_t queries) {
  PopcountsOfFour& popcounts = popcounts_of_four(target);
  std::uint64_t total = 0;
  for (std::size_t at = 0; at < bytes; at += kBlock) {
    const std::size_t size = std::min(kBlock, bytes - at);
    for (std::size_t q = 0; q + kTogether <= queries; q += kTogether) {
      total += popcounts(codes + at, size, words + q);
    }
  }
  return total;
}

std::uint64_t bare_read(const std::uint8_t* codes, std::size_t bytes) {
  const auto read = __builtin_cpu_supports("avx512f") ? read_pages_512 : read_pages;
  std::uint64_t total = 0;
  std::size_t at = 0;
  for (; at + kPages * kPage <= bytes; at += kPages * kPage) total ^= read(codes + at);
  for (; at + 8 <= bytes; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, codes + at, sizeof word);
    total ^= word;
  }
  return total;
}

}  // namespace bdnn::bench
