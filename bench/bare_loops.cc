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

constexpr std::size_t kPerLookup = 32;

// The least distance of the codes to each of 32 queries, by lookup tables of the bytes of a code.
template <std::size_t kBytes>
__attribute__((target("avx2"))) std::uint64_t by_lookup_256(const std::uint8_t* codes, std::size_t count,
                                                            const std::uint8_t* tables) {
  constexpr std::size_t kCodes = 8;
  __m256i least = _mm256_set1_epi8(-1);
  for (std::size_t i = 0; i + kCodes <= count; i += kCodes) {
    __m256i sums[kCodes];
    for (auto& sum : sums) sum = _mm256_setzero_si256();
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      for (std::size_t c = 0; c < kCodes; ++c) {
        const std::size_t value = codes[(i + c) * kBytes + byte];
        const auto* at = reinterpret_cast<const __m256i*>(tables + (byte * 256 + value) * kPerLookup);
        sums[c] = _mm256_adds_epu8(sums[c], _mm256_load_si256(at));
      }
    }
    for (const auto& sum : sums) least = _mm256_min_epu8(least, sum);
  }
  std::uint64_t lanes[4];
  std::memcpy(lanes, &least, sizeof lanes);
  return lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3];
}

// The same with vectors of 16 bytes, of which there are 16.
template <std::size_t kBytes>
std::uint64_t by_lookup_128(const std::uint8_t* codes, std::size_t count, const std::uint8_t* tables) {
  constexpr std::size_t kCodes = 4;
  __m128i least[2] = {_mm_set1_epi8(-1), _mm_set1_epi8(-1)};
  for (std::size_t i = 0; i + kCodes <= count; i += kCodes) {
    __m128i sums[kCodes][2];
    for (auto& sum : sums) sum[0] = sum[1] = _mm_setzero_si128();
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      for (std::size_t c = 0; c < kCodes; ++c) {
        const std::size_t value = codes[(i + c) * kBytes + byte];
        const auto* at = reinterpret_cast<const __m128i*>(tables + (byte * 256 + value) * kPerLookup);
        sums[c][0] = _mm_adds_epu8(sums[c][0], _mm_load_si128(at));
        sums[c][1] = _mm_adds_epu8(sums[c][1], _mm_load_si128(at + 1));
      }
    }
    for (const auto& sum : sums) {
      least[0] = _mm_min_epu8(least[0], sum[0]);
      least[1] = _mm_min_epu8(least[1], sum[1]);
    }
  }
  std::uint64_t lanes[4];
  std::memcpy(lanes, least, sizeof lanes);
  return lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3];
}

using ByLookup = std::uint64_t(const std::uint8_t* codes, std::size_t count, const std::uint8_t* tables);

template <std::size_t kBytes>
ByLookup& by_lookup(const std::string& target) {
  if (target == "AVX2") return by_lookup_256<kBytes>;
  return by_lookup_128<kBytes>;
}

constexpr std::size_t kSteps = 1'000'000;  // of each chain of multiply-adds
constexpr std::size_t kChains = 12;        // as many as hide how long a step takes
constexpr std::size_t kChains512 = 24;

volatile float used_sum = 0;  // so that sums are not optimised away

__attribute__((target("avx512f"))) double multiply_adds_512() {
  const __m512 x = _mm512_set1_ps(0.5F);
  __m512 sums[kChains512];
  for (auto& sum : sums) sum = x;
  for (std::size_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 24
    for (std::size_t c = 0; c < kChains512; ++c) sums[c] = _mm512_fmadd_ps(sums[c], x, x);
  }
  for (const auto& sum : sums) used_sum = used_sum + _mm512_cvtss_f32(sum);
  return 2.0 * 16 * kChains512 * kSteps;
}

__attribute__((target("avx2,fma"))) double multiply_adds_256() {
  const __m256 x = _mm256_set1_ps(0.5F);
  __m256 sums[kChains];
  for (auto& sum : sums) sum = x;
  for (std::size_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (std::size_t c = 0; c < kChains; ++c) sums[c] = _mm256_fmadd_ps(sums[c], x, x);
  }
  for (const auto& sum : sums) used_sum = used_sum + _mm256_cvtss_f32(sum);
  return 2.0 * 8 * kChains * kSteps;
}

double multiply_adds_128() {
  const __m128 x = _mm_set1_ps(0.5F);
  __m128 sums[kChains];
  for (auto& sum : sums) sum = x;
  for (std::size_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (std::size_t c = 0; c < kChains; ++c) sums[c] = _mm_add_ps(_mm_mul_ps(sums[c], x), x);
  }
  for (const auto& sum : sums) used_sum = used_sum + _mm_cvtss_f32(sum);
  return 2.0 * 4 * kChains * kSteps;
}

double multiply_adds_scalar() {
  const __m128 x = _mm_set_ss(0.5F);
  __m128 sums[kChains];
  for (auto& sum : sums) sum = x;
  for (std::size_t i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (std::size_t c = 0; c < kChains; ++c) sums[c] = _mm_add_ss(_mm_mul_ss(sums[c], x), x);
  }
  for (const auto& sum : sums) used_sum = used_sum + _mm_cvtss_f32(sum);
  return 2.0 * kChains * kSteps;
}

// exp(x) for |x| < 80: 2^n times a polynomial of what is left, within half of log 2 of zero.
__attribute__((target("avx2,fma"), always_inline)) inline __m256 exp_256(__m256 x) {
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504F)), 8);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), r);
  __m256 p = _mm256_set1_ps(1.0F / 720);
  for (const float factor : {1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F}) {
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(factor));
  }
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23)));
}

}  // namespace

double bare_multiply_adds(const std::string& target) {
  if (target.starts_with("AVX3")) return multiply_adds_512();
  if (target == "AVX2") return multiply_adds_256();
  return target == "SCALAR" ? multiply_adds_scalar() : multiply_adds_128();
}

__attribute__((target("avx2,fma"))) void bare_sigmoids(float bias, std::size_t count, float* h) {
  const __m256 one = _mm256_set1_ps(1);
  const __m256 minus = _mm256_set1_ps(-bias);
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    const __m256 x = _mm256_sub_ps(minus, _mm256_loadu_ps(h + i));
    const __m256 bounded = _mm256_max_ps(_mm256_min_ps(x, _mm256_set1_ps(80)), _mm256_set1_ps(-80));
    _mm256_storeu_ps(h + i, _mm256_div_ps(one, _mm256_add_ps(one, exp_256(bounded))));
  }
}

__attribute__((target("avx2"))) void bare_exchange(const float* plus, const float* minus, std::size_t count,
                                                   float* sum) {
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    const __m256 change = _mm256_sub_ps(_mm256_loadu_ps(plus + i), _mm256_loadu_ps(minus + i));
    _mm256_storeu_ps(sum + i, _mm256_add_ps(_mm256_loadu_ps(sum + i), change));
  }
}

__attribute__((target("avx2"))) float bare_most(const float* values, std::size_t count) {
  __m256 even = _mm256_loadu_ps(values);
  __m256 odd = _mm256_loadu_ps(values + 8);
  for (std::size_t i = 16; i + 16 <= count; i += 16) {
    even = _mm256_max_ps(even, _mm256_loadu_ps(values + i));
    odd = _mm256_max_ps(odd, _mm256_loadu_ps(values + i + 8));
  }
  const __m256 both = _mm256_max_ps(even, odd);
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(both), _mm256_extractf128_ps(both, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_shuffle_ps(four, four, 1)));
}

std::uint64_t bare_lookup(const std::string& target, const std::uint8_t* codes, std::size_t count, std::size_t bytes,
                          const std::uint8_t* queries, std::size_t query_count) {
  ByLookup& run = bytes == 4    ? by_lookup<4>(target)
                  : bytes == 8  ? by_lookup<8>(target)
                  : bytes == 16 ? by_lookup<16>(target)
                                : by_lookup<32>(target);
  std::vector<std::uint8_t> room(bytes * 256 * kPerLookup + 64);
  std::uint8_t* tables = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
  std::uint64_t total = 0;
  for (std::size_t first = 0; first + kPerLookup <= query_count; first += kPerLookup) {
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      for (unsigned value = 0; value < 256; ++value) {
        for (std::size_t q = 0; q < kPerLookup; ++q) {
          const std::uint8_t own = queries[(first + q) * bytes + byte];
          tables[(byte * 256 + value) * kPerLookup + q] = static_cast<std::uint8_t>(std::popcount(own ^ value));
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

__attribute__((target("popcnt"))) std::uint64_t bare_differing(const std::uint8_t* words, std::size_t count,
                                                               const std::uint8_t* query, std::size_t word_bytes) {
  std::uint64_t own = 0;
  std::memcpy(&own, query, word_bytes);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, words + i * word_bytes, word_bytes == 4 ? 4 : 8);
    sum += static_cast<std::uint64_t>(std::popcount(word ^ own));
  }
  return sum;
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
