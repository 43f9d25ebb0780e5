#include "codes/lookup_scan.h"

#include <bit>
#include <cstring>

#include "base/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codes/lookup_scan.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<std::uint8_t, kCodesPerTableBlock>;
using Vector = hn::Vec<Tag>;

#if HWY_TARGET == HWY_SCALAR
Vector upper_bits(Vector bytes) { return Vector(static_cast<std::uint8_t>(bytes.raw >> 4)); }
Vector look_up(const std::uint8_t* table, Vector at) { return Vector(table[at.raw]); }
Vector look_up_byte(const std::uint8_t* table, Vector at) { return Vector(table[at.raw]); }
#else
HWY_INLINE Vector upper_bits(Vector bytes) {
  const Tag d;
  const hn::Repartition<std::uint16_t, Tag> d16;
  return hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(d16, bytes))), hn::Set(d, std::uint8_t{0x0F}));
}
HWY_INLINE Vector look_up(const std::uint8_t* table, Vector at) {
  return hn::TableLookupBytes(hn::LoadDup128(Tag(), table), at);
}
#if HWY_TARGET == HWY_AVX3_DL
// Two permutations of 128 bytes each, which Highway has no name for.
HWY_INLINE Vector look_up_byte(const std::uint8_t* table, Vector at) {
  const __m512i low = _mm512_permutex2var_epi8(_mm512_loadu_si512(table), at.raw, _mm512_loadu_si512(table + 64));
  const __m512i high =
      _mm512_permutex2var_epi8(_mm512_loadu_si512(table + 128), at.raw, _mm512_loadu_si512(table + 192));
  return Vector{_mm512_mask_blend_epi8(_mm512_movepi8_mask(at.raw), low, high)};
}
#else
// Sixteen tables of 16, of which the upper bits choose one.
HWY_INLINE Vector look_up_byte(const std::uint8_t* table, Vector at) {
  const Tag d;
  const auto low = hn::And(at, hn::Set(d, std::uint8_t{0x0F}));
  const auto high = upper_bits(at);
  auto found = hn::Zero(d);
  for (unsigned part = 0; part < 16; ++part) {
    const auto here = hn::Eq(high, hn::Set(d, static_cast<std::uint8_t>(part)));
    found = hn::Or(found, hn::IfThenElseZero(here, look_up(table + 16 * part, low)));
  }
  return found;
}
#endif
#endif

// The sums of a vector of codes, for kCount queries at once: each byte of a code is loaded and split for all of them.
template <LookupWidth kWidth, std::size_t kCount>
HWY_INLINE void add_rows(const std::uint8_t* HWY_RESTRICT codes, std::size_t rows, const ByteTables* queries,
                         Vector* sums) {
  const Tag d;
  const auto low_bits = hn::Set(d, std::uint8_t{0x0F});
  Vector own[kCount];  // an array of the loop's, so that it stays in registers
  for (std::size_t q = 0; q < kCount; ++q) own[q] = hn::Zero(d);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto bytes = hn::Load(d, codes + row * kCodesPerTableBlock);
    if constexpr (kWidth == LookupWidth::eight_bits) {
      for (std::size_t q = 0; q < kCount; ++q) {
        own[q] = hn::SaturatedAdd(own[q], look_up_byte(queries[q].values + row * 256, bytes));
      }
      continue;
    }
    const auto low = hn::And(bytes, low_bits);
    const auto high = upper_bits(bytes);
    for (std::size_t q = 0; q < kCount; ++q) {
      const std::uint8_t* values = queries[q].values + row * 32;
      own[q] = hn::SaturatedAdd(own[q], look_up(values, low));
      own[q] = hn::SaturatedAdd(own[q], look_up(values + 16, high));
    }
  }
  for (std::size_t q = 0; q < kCount; ++q) sums[q] = own[q];
}

template <LookupWidth kWidth, std::size_t kCount>
void scan(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, ByteTables* queries) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::uint8_t* at = codes + block * rows * kCodesPerTableBlock;
    for (std::size_t lane = 0; lane < kCodesPerTableBlock; lane += lanes) {
      Vector sums[kCount];
      add_rows<kWidth, kCount>(at + lane, rows, queries, sums);
      for (std::size_t q = 0; q < kCount; ++q) {
        const auto within = hn::Eq(hn::Min(sums[q], hn::Set(d, queries[q].limit)), sums[q]);
        if (HWY_LIKELY(hn::AllFalse(d, within))) continue;
        std::uint8_t bits[8] = {};
        hn::StoreMaskBits(d, within, bits);
        std::uint64_t mask = 0;
        std::memcpy(&mask, bits, sizeof mask);
        ByteTables& own = queries[q];
        for (; mask != 0; mask &= mask - 1) {
          own.found[own.found_count++] = static_cast<std::uint32_t>(block * kCodesPerTableBlock + lane +
                                                                    static_cast<unsigned>(std::countr_zero(mask)));
        }
      }
    }
  }
}

template <LookupWidth kWidth>
void scan_any(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, ByteTables* queries,
              std::size_t query_count) {
  static_assert(kQueriesPerTableScan == 4);
  switch (query_count) {
    case 1: return scan<kWidth, 1>(codes, rows, blocks, queries);
    case 2: return scan<kWidth, 2>(codes, rows, blocks, queries);
    case 3: return scan<kWidth, 3>(codes, rows, blocks, queries);
    default: return scan<kWidth, 4>(codes, rows, blocks, queries);
  }
}

template <LookupWidth kWidth>
void sum_all(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, const std::uint8_t* values,
             std::uint8_t* sums) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const ByteTables query{values, 0, nullptr, 0};
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t lane = 0; lane < kCodesPerTableBlock; lane += lanes) {
      Vector sum[1];
      add_rows<kWidth, 1>(codes + block * rows * kCodesPerTableBlock + lane, rows, &query, sum);
      hn::StoreU(sum[0], d, sums + block * kCodesPerTableBlock + lane);
    }
  }
}

void scan_four_bits(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, ByteTables* queries,
                    std::size_t query_count) {
  scan_any<LookupWidth::four_bits>(codes, rows, blocks, queries, query_count);
}
void scan_eight_bits(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, ByteTables* queries,
                     std::size_t query_count) {
  scan_any<LookupWidth::eight_bits>(codes, rows, blocks, queries, query_count);
}
void sum_four_bits(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, const std::uint8_t* values,
                   std::uint8_t* sums) {
  sum_all<LookupWidth::four_bits>(codes, rows, blocks, values, sums);
}
void sum_eight_bits(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, const std::uint8_t* values,
                    std::uint8_t* sums) {
  sum_all<LookupWidth::eight_bits>(codes, rows, blocks, values, sums);
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(scan_four_bits);
HWY_EXPORT(scan_eight_bits);
HWY_EXPORT(sum_four_bits);
HWY_EXPORT(sum_eight_bits);
}  // namespace

void scan_tables(LookupWidth width, const std::uint8_t* codes, std::size_t rows, std::size_t blocks,
                 ByteTables* queries, std::size_t query_count) {
  choose_simd_target();
  if (width == LookupWidth::eight_bits) {
    HWY_DYNAMIC_DISPATCH(scan_eight_bits)(codes, rows, blocks, queries, query_count);
  } else {
    HWY_DYNAMIC_DISPATCH(scan_four_bits)(codes, rows, blocks, queries, query_count);
  }
}

void sum_tables(LookupWidth width, const std::uint8_t* codes, std::size_t rows, std::size_t blocks,
                const std::uint8_t* values, std::uint8_t* sums) {
  choose_simd_target();
  if (width == LookupWidth::eight_bits) {
    HWY_DYNAMIC_DISPATCH(sum_eight_bits)(codes, rows, blocks, values, sums);
  } else {
    HWY_DYNAMIC_DISPATCH(sum_four_bits)(codes, rows, blocks, values, sums);
  }
}

}  // namespace bdnn
#endif  // HWY_ONCE
