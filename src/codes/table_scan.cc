#include "codes/table_scan.h"

#include <bit>
#include <cstring>

#include "base/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codes/table_scan.cc"
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
#else
HWY_INLINE Vector upper_bits(Vector bytes) {
  const Tag d;
  const hn::Repartition<std::uint16_t, Tag> d16;
  return hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(d16, bytes))), hn::Set(d, std::uint8_t{0x0F}));
}
HWY_INLINE Vector look_up(const std::uint8_t* table, Vector at) {
  return hn::TableLookupBytes(hn::LoadDup128(Tag(), table), at);
}
#endif

// The sums of a vector of codes, for kCount queries at once: each byte of a code is loaded and split for all of them.
template <std::size_t kCount>
HWY_INLINE void add_rows(const std::uint8_t* HWY_RESTRICT codes, std::size_t rows, const ByteTables* queries,
                         Vector* sums) {
  const Tag d;
  const auto low_bits = hn::Set(d, std::uint8_t{0x0F});
  Vector own[kCount];  // an array of the loop's, so that it stays in registers
  for (std::size_t q = 0; q < kCount; ++q) own[q] = hn::Zero(d);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto bytes = hn::Load(d, codes + row * kCodesPerTableBlock);
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

template <std::size_t kCount>
void scan(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, ByteTables* queries) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::uint8_t* at = codes + block * rows * kCodesPerTableBlock;
    for (std::size_t lane = 0; lane < kCodesPerTableBlock; lane += lanes) {
      Vector sums[kCount];
      add_rows<kCount>(at + lane, rows, queries, sums);
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

void scan_any(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, ByteTables* queries,
              std::size_t query_count) {
  static_assert(kQueriesPerTableScan == 4);
  switch (query_count) {
    case 1: return scan<1>(codes, rows, blocks, queries);
    case 2: return scan<2>(codes, rows, blocks, queries);
    case 3: return scan<3>(codes, rows, blocks, queries);
    default: return scan<4>(codes, rows, blocks, queries);
  }
}

void sum_all(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, const std::uint8_t* values,
             std::uint8_t* sums) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const ByteTables query{values, 0, nullptr, 0};
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t lane = 0; lane < kCodesPerTableBlock; lane += lanes) {
      Vector sum[1];
      add_rows<1>(codes + block * rows * kCodesPerTableBlock + lane, rows, &query, sum);
      hn::StoreU(sum[0], d, sums + block * kCodesPerTableBlock + lane);
    }
  }
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(scan_any);
HWY_EXPORT(sum_all);
}  // namespace

void scan_tables(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, ByteTables* queries,
                 std::size_t query_count) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(scan_any)(codes, rows, blocks, queries, query_count);
}

void sum_tables(const std::uint8_t* codes, std::size_t rows, std::size_t blocks, const std::uint8_t* values,
                std::uint8_t* sums) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(sum_all)(codes, rows, blocks, values, sums);
}

}  // namespace bdnn
#endif  // HWY_ONCE
