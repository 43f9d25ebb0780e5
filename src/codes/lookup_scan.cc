#include "codes/lookup_scan.h"

#include <algorithm>
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
using Tag = hn::CappedTag<std::uint8_t, kCodesPerLookupBlock>;
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
// Two permutations of 128 bytes each, which Highway does not offer.
HWY_INLINE Vector look_up_byte(const std::uint8_t* table, Vector at) {
  const __m512i low = _mm512_permutex2var_epi8(_mm512_loadu_si512(table), at.raw, _mm512_loadu_si512(table + 64));
  const __m512i high =
      _mm512_permutex2var_epi8(_mm512_loadu_si512(table + 128), at.raw, _mm512_loadu_si512(table + 192));
  return Vector{_mm512_mask_blend_epi8(_mm512_movepi8_mask(at.raw), low, high)};
}
#else
// From kTables lookup tables of 16, by the highest of the bits that choose among them first: so few results wait at a
// time that they stay in registers.
template <unsigned kTables>
HWY_INLINE Vector look_up_among(const std::uint8_t* table, Vector low, Vector at) {
  if constexpr (kTables == 1) {
    return look_up(table, low);
  } else {
    const auto upper = hn::TestBit(at, hn::Set(Tag(), static_cast<std::uint8_t>(8 * kTables)));
    return hn::IfThenElse(upper, look_up_among<kTables / 2>(table + 8 * kTables, low, at),
                          look_up_among<kTables / 2>(table, low, at));
  }
}
HWY_INLINE Vector look_up_byte(const std::uint8_t* table, Vector at) {
  return look_up_among<16>(table, hn::And(at, hn::Set(Tag(), std::uint8_t{0x0F})), at);
}
#endif
#endif

// The sums of a vector of codes, for kCount queries at once: each byte of a code is loaded and split for all of them.
template <LookupWidth kWidth, std::size_t kCount>
HWY_INLINE void add_rows(const std::uint8_t* HWY_RESTRICT codes, std::size_t rows, const ByteLookupTables* queries,
                         Vector* sums) {
  const Tag d;
  const auto low_bits = hn::Set(d, std::uint8_t{0x0F});
  Vector own[kCount];  // local to the loop, so that it stays in registers
  for (std::size_t q = 0; q < kCount; ++q) own[q] = hn::Zero(d);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto bytes = hn::Load(d, codes + row * kCodesPerLookupBlock);
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
void scan(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, ByteLookupTables* queries) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::uint8_t* at = codes + block * rows * kCodesPerLookupBlock;
    for (std::size_t lane = 0; lane < kCodesPerLookupBlock; lane += lanes) {
      Vector sums[kCount];
      add_rows<kWidth, kCount>(at + lane, rows, queries, sums);
      for (std::size_t q = 0; q < kCount; ++q) {
        const auto within = hn::Eq(hn::Min(sums[q], hn::Set(d, queries[q].limit)), sums[q]);
        if (HWY_LIKELY(hn::AllFalse(d, within))) continue;
        std::uint8_t bits[8] = {};
        hn::StoreMaskBits(d, within, bits);
        std::uint64_t mask = 0;
        std::memcpy(&mask, bits, sizeof mask);
        ByteLookupTables& own = queries[q];
        for (; mask != 0; mask &= mask - 1) {
          own.found[own.found_count++] = static_cast<std::uint32_t>(block * kCodesPerLookupBlock + lane +
                                                                    static_cast<unsigned>(std::countr_zero(mask)));
        }
      }
    }
  }
}

template <LookupWidth kWidth>
void scan_any(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, ByteLookupTables* queries,
              std::size_t query_count) {
  static_assert(kQueriesPerLookupScan == 4);
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
  const ByteLookupTables query{values, 0, nullptr, 0};
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t lane = 0; lane < kCodesPerLookupBlock; lane += lanes) {
      Vector sum[1];
      add_rows<kWidth, 1>(codes + block * rows * kCodesPerLookupBlock + lane, rows, &query, sum);
      hn::StoreU(sum[0], d, sums + block * kCodesPerLookupBlock + lane);
    }
  }
}

void scan_four_bits(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, ByteLookupTables* queries,
                    std::size_t query_count) {
  scan_any<LookupWidth::four_bits>(codes, rows, blocks, queries, query_count);
}
void scan_eight_bits(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, ByteLookupTables* queries,
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

// The other way round: the queries are the lanes, and codes follow one after the other.
using SharedTag = hn::CappedTag<std::uint8_t, kQueriesPerSharedScan>;
constexpr std::size_t kSharedVectors = kQueriesPerSharedScan / hn::MaxLanes(SharedTag());
constexpr std::size_t kSharedCodes = 8 / std::min<std::size_t>(kSharedVectors, 8);  // whose sums registers hold

struct SharedSums {
  hn::Vec<SharedTag> of[kSharedVectors];
};

// The sums of kSharedCodes codes that follow each other in a block.
HWY_INLINE void add_shared_rows(const std::uint8_t* HWY_RESTRICT codes, std::size_t rows,
                                const std::uint8_t* HWY_RESTRICT values, SharedSums* sums) {
  const SharedTag d;
  SharedSums own[kSharedCodes];
  for (std::size_t i = 0; i < kSharedCodes; ++i) {
    for (std::size_t part = 0; part < kSharedVectors; ++part) {
      own[i].of[part] = hn::Load(d, values + codes[i] * kQueriesPerSharedScan + part * hn::MaxLanes(d));
    }
  }
  for (std::size_t row = 1; row < rows; ++row) {
    codes += kCodesPerLookupBlock;
    values += 256 * kQueriesPerSharedScan;
    for (std::size_t i = 0; i < kSharedCodes; ++i) {
      const std::uint8_t* at = values + codes[i] * kQueriesPerSharedScan;
      for (std::size_t part = 0; part < kSharedVectors; ++part) {
        own[i].of[part] = hn::SaturatedAdd(own[i].of[part], hn::Load(d, at + part * hn::MaxLanes(d)));
      }
    }
  }
  for (std::size_t i = 0; i < kSharedCodes; ++i) sums[i] = own[i];
}

void scan_shared(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, const std::uint8_t* values,
                 ByteLookupTables* queries, std::size_t query_count) {
  const SharedTag d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  alignas(kQueriesPerSharedScan) std::uint8_t limits[kQueriesPerSharedScan] = {};
  for (std::size_t q = 0; q < query_count; ++q) limits[q] = queries[q].limit;
  SharedSums limit;
  for (std::size_t part = 0; part < kSharedVectors; ++part) limit.of[part] = hn::Load(d, limits + part * kLanes);
  const auto queries_there = static_cast<std::uint32_t>((std::uint64_t{1} << query_count) - 1);
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::uint8_t* at = codes + block * rows * kCodesPerLookupBlock;
    for (std::size_t first = 0; first < kCodesPerLookupBlock; first += kSharedCodes) {
      SharedSums sums[kSharedCodes];
      add_shared_rows(at + first, rows, values, sums);
      for (std::size_t i = 0; i < kSharedCodes; ++i) {
        std::uint32_t mask = 0;
        for (std::size_t part = 0; part < kSharedVectors; ++part) {
          const auto sum = sums[i].of[part];
          std::uint8_t bits[8] = {};
          hn::StoreMaskBits(d, hn::Eq(hn::Min(sum, limit.of[part]), sum), bits);
          std::uint32_t own = 0;
          std::memcpy(&own, bits, (kLanes + 7) / 8);
          mask |= own << part * kLanes;
        }
        mask &= queries_there;
        if (HWY_LIKELY(mask == 0)) continue;
        for (; mask != 0; mask &= mask - 1) {
          ByteLookupTables& own = queries[std::countr_zero(mask)];
          own.found[own.found_count++] = static_cast<std::uint32_t>(block * kCodesPerLookupBlock + first + i);
        }
      }
    }
  }
}

// As measured by bench/reconstruction_bench. For eight bits, VBMI is better still; for four, wide vectors are, and
// shuffles where the shared lookup tables would leave the second-level cache.
std::size_t least_to_share(LookupWidth width, std::size_t rows) {
  constexpr std::size_t kNever = kQueriesPerSharedScan + 1;
  if (width == LookupWidth::eight_bits) return HWY_TARGET == HWY_AVX3_DL ? kNever : 3;
  if (HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3 || rows > 34) return kNever;
  return rows <= 9 ? 20 : 28;
}

void sum_shared(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, const std::uint8_t* values,
                std::uint8_t* sums) {
  const SharedTag d;
  for (std::size_t first = 0; first < blocks * kCodesPerLookupBlock; first += kSharedCodes) {
    const std::size_t block = first / kCodesPerLookupBlock * kCodesPerLookupBlock;
    SharedSums own[kSharedCodes];
    add_shared_rows(codes + block * rows + (first - block), rows, values, own);
    for (const auto& sum : own) {
      for (const auto& part : sum.of) {
        hn::StoreU(part, d, sums);
        sums += hn::MaxLanes(d);
      }
    }
  }
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
HWY_EXPORT(least_to_share);
HWY_EXPORT(scan_shared);
HWY_EXPORT(sum_shared);
}  // namespace

void scan_lookup_sums(LookupWidth width, const std::uint8_t* codes, std::size_t rows, std::size_t blocks,
                      ByteLookupTables* queries, std::size_t query_count) {
  choose_simd_target();
  if (width == LookupWidth::eight_bits) {
    HWY_DYNAMIC_DISPATCH(scan_eight_bits)(codes, rows, blocks, queries, query_count);
  } else {
    HWY_DYNAMIC_DISPATCH(scan_four_bits)(codes, rows, blocks, queries, query_count);
  }
}

void sum_lookup_tables(LookupWidth width, const std::uint8_t* codes, std::size_t rows, std::size_t blocks,
                       const std::uint8_t* values, std::uint8_t* sums) {
  choose_simd_target();
  if (width == LookupWidth::eight_bits) {
    HWY_DYNAMIC_DISPATCH(sum_eight_bits)(codes, rows, blocks, values, sums);
  } else {
    HWY_DYNAMIC_DISPATCH(sum_four_bits)(codes, rows, blocks, values, sums);
  }
}

bool shares_lookup_tables(LookupWidth width, std::size_t rows, std::size_t query_count) {
  choose_simd_target();
  return query_count >= HWY_DYNAMIC_DISPATCH(least_to_share)(width, rows);
}

void scan_shared_lookup_sums(const std::uint8_t* codes, std::size_t rows, std::size_t blocks,
                             const std::uint8_t* values, ByteLookupTables* queries, std::size_t query_count) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(scan_shared)(codes, rows, blocks, values, queries, query_count);
}

void sum_shared_lookup_tables(const std::uint8_t* codes, std::size_t rows, std::size_t blocks,
                              const std::uint8_t* values, std::uint8_t* sums) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(sum_shared)(codes, rows, blocks, values, sums);
}

}  // namespace bdnn
#endif  // HWY_ONCE
