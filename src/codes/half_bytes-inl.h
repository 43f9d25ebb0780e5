// Counts differing bits on CPUs without an instruction for it: half bytes are looked up in a table of 16, and the
// counts added up, first in bytes, then to distances of 2 bytes, as late as their range allows. Included once per SIMD
// target.
#if defined(BDNN_CODES_HALF_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BDNN_CODES_HALF_BYTES_INL_H_
#undef BDNN_CODES_HALF_BYTES_INL_H_
#else
#define BDNN_CODES_HALF_BYTES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "bdnn/codes.h"
#include "codes/interleaved.h"

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#undef BDNN_COUNTS_HALF_BYTES
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define BDNN_COUNTS_HALF_BYTES 1
#else
#define BDNN_COUNTS_HALF_BYTES 0
#endif

#if BDNN_COUNTS_HALF_BYTES

using ByteTag = hn::CappedTag<std::uint8_t, kLine>;
using Bytes = hn::Vec<ByteTag>;
using DistanceTag = hn::CappedTag<std::int16_t, kLine / 2>;
using Distances = hn::Vec<DistanceTag>;

// sums_of_2() adds up neighbouring bytes, sums_of_pairs() neighbouring numbers of 2 bytes; packed() makes those bytes
// again.
#if HWY_TARGET == HWY_SSSE3
HWY_INLINE Distances sums_of_2(Bytes v) { return Distances{_mm_maddubs_epi16(v.raw, _mm_set1_epi8(1))}; }
HWY_INLINE Distances sums_of_pairs(Distances v) { return Distances{_mm_madd_epi16(v.raw, _mm_set1_epi16(1))}; }
HWY_INLINE Bytes packed(Distances a, Distances b) { return Bytes{_mm_packus_epi16(a.raw, b.raw)}; }
#elif HWY_TARGET == HWY_AVX2
HWY_INLINE Distances sums_of_2(Bytes v) { return Distances{_mm256_maddubs_epi16(v.raw, _mm256_set1_epi8(1))}; }
HWY_INLINE Distances sums_of_pairs(Distances v) { return Distances{_mm256_madd_epi16(v.raw, _mm256_set1_epi16(1))}; }
HWY_INLINE Bytes packed(Distances a, Distances b) { return Bytes{_mm256_packus_epi16(a.raw, b.raw)}; }
#else
HWY_INLINE Distances sums_of_2(Bytes v) { return Distances{_mm512_maddubs_epi16(v.raw, _mm512_set1_epi8(1))}; }
HWY_INLINE Distances sums_of_pairs(Distances v) { return Distances{_mm512_madd_epi16(v.raw, _mm512_set1_epi16(1))}; }
HWY_INLINE Bytes packed(Distances a, Distances b) { return Bytes{_mm512_packus_epi16(a.raw, b.raw)}; }
#endif

struct HalfBytes {
  Bytes low;
  Bytes high;
};

HWY_INLINE HalfBytes half_bytes_of(Bytes bytes) {
  const ByteTag d;
  const hn::Repartition<std::uint16_t, ByteTag> d16;
  const Bytes half = hn::Set(d, std::uint8_t{15});
  return {hn::And(bytes, half), hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(d16, bytes))), half)};
}

HWY_INLINE HalfBytes half_bytes_at(const std::uint8_t* from) { return half_bytes_of(hn::LoadU(ByteTag(), from)); }

// In each byte, the number of bits in which two bytes differ.
HWY_INLINE Bytes differing_bits(const HalfBytes& a, const HalfBytes& b) {
  alignas(16) static constexpr std::uint8_t kBits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
  const Bytes bits = hn::LoadDup128(ByteTag(), kBits);
  return hn::Add(hn::TableLookupBytes(bits, hn::Xor(a.low, b.low)),
                 hn::TableLookupBytes(bits, hn::Xor(a.high, b.high)));
}

// The number of counts of differing_bits(), of at most 8 each, that can be added in bytes.
inline constexpr std::size_t kMostCounts = 31;

// Their sum. It saturates only so that compilers keep to this order; in one of their own, sums do not fit the
// registers.
HWY_INLINE Bytes with_more(Bytes counts, Bytes more) { return hn::SaturatedAdd(counts, more); }

// Distances of codes from the counts of their bytes. The first 2 bytes of a lane hold its distance, the others zeros.
template <class Lane>
HWY_INLINE Distances distances_of_lanes(Bytes counts) {
  if constexpr (sizeof(Lane) == 8) return hn::BitCast(DistanceTag(), hn::SumsOf8(counts));
  if constexpr (sizeof(Lane) == 4) return sums_of_pairs(sums_of_2(counts));
}

// Of codes of one lane of 4 bytes, in two vectors: their distances in some order, all lanes in use.
HWY_INLINE Distances distances_of_two(Bytes a, Bytes b) { return sums_of_2(packed(sums_of_2(a), sums_of_2(b))); }

// Some queries by half bytes, each lane of them repeated to the length of a vector.
template <class Lane, std::size_t kLanes, std::size_t kQueries>
class HalfByteQueries {
 public:
  template <class QueryOf>
  HalfByteQueries(std::size_t lanes, const QueryOf& query) {
    const hn::Repartition<Lane, ByteTag> d;
    for (std::size_t q = 0; q < kQueries; ++q) {
      for (std::size_t w = 0; w < lanes; ++w) {
        Lane lane;
        std::memcpy(&lane, query(q) + w * sizeof(Lane), sizeof(Lane));
        const HalfBytes halves = half_bytes_of(hn::BitCast(ByteTag(), hn::Set(d, lane)));
        hn::Store(halves.low, ByteTag(), at(q, w));
        hn::Store(halves.high, ByteTag(), at(q, w) + kVector);
      }
    }
  }

  HWY_INLINE HalfBytes operator()(std::size_t q, std::size_t w) const {
    return {hn::Load(ByteTag(), at(q, w)), hn::Load(ByteTag(), at(q, w) + kVector)};
  }

 private:
  static constexpr std::size_t kVector = hn::MaxLanes(ByteTag());
  static constexpr std::size_t kMostLanes = kLanes != 0 ? kLanes : kMaxBits / 8 / sizeof(Lane);

  std::uint8_t* at(std::size_t q, std::size_t w) { return halves_ + (w * kQueries + q) * 2 * kVector; }
  const std::uint8_t* at(std::size_t q, std::size_t w) const { return halves_ + (w * kQueries + q) * 2 * kVector; }

  alignas(kLine) std::uint8_t halves_[kMostLanes * kQueries * 2 * kVector];
};

#endif  // BDNN_COUNTS_HALF_BYTES

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
