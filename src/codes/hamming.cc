#include "codes/hamming.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "base/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codes/hamming.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Codes that fill a lane: one comparison works on as many codes as a vector has lanes.
template <class Word>
HWY_INLINE void distances_by_lane(const std::uint8_t* query, const std::uint8_t* codes, std::size_t count,
                                  std::uint16_t* distances) {
  const hn::ScalableTag<Word> d;
  Word query_word;
  std::memcpy(&query_word, query, sizeof(Word));
  const auto q = hn::Set(d, query_word);
  const std::size_t lanes = hn::Lanes(d);
  alignas(64) Word differences[64 / sizeof(Word)];
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto code = hn::LoadU(d, reinterpret_cast<const Word*>(codes + i * sizeof(Word)));
    hn::Store(hn::PopulationCount(hn::Xor(code, q)), d, differences);
    for (std::size_t j = 0; j < lanes; ++j) distances[i + j] = static_cast<std::uint16_t>(differences[j]);
  }
  for (; i < count; ++i) {
    Word code;
    std::memcpy(&code, codes + i * sizeof(Word), sizeof(Word));
    distances[i] = static_cast<std::uint16_t>(std::popcount(static_cast<Word>(code ^ query_word)));
  }
}

template <class Word = std::uint64_t>
HWY_INLINE std::uint64_t word_at(const std::uint8_t* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(Word));
  return word;
}

// Codes that fill no lane, as two halves that overlap: an odd number of bytes would go through memory.
template <class Half, std::size_t kBytes>
HWY_INLINE void distances_by_halves(const std::uint8_t* query, const std::uint8_t* codes, std::size_t count,
                                    std::uint16_t* distances) {
  constexpr std::size_t kUpper = kBytes - sizeof(Half);  // where the upper half begins
  const auto whole = [](const std::uint8_t* code) {
    return word_at<Half>(code) | word_at<Half>(code + kUpper) << 8 * kUpper;
  };
  const std::uint64_t q = whole(query);
  for (std::size_t i = 0; i < count; ++i) {
    distances[i] = static_cast<std::uint16_t>(std::popcount(whole(codes + i * kBytes) ^ q));
  }
}

// Codes of 8 bytes or more: vectors over the length of one code, then words, then the last bytes: the upper ones of the
// word in which the code ends.
HWY_INLINE void distances_one_by_one(const std::uint8_t* query, const std::uint8_t* codes, std::size_t bytes,
                                     std::size_t count, std::uint16_t* distances) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t vector = hn::Lanes(d) * sizeof(std::uint64_t);
  for (std::size_t i = 0; i < count; ++i, codes += bytes) {
    std::size_t at = 0;
    std::uint64_t sum = 0;
    if (bytes >= vector && vector > sizeof(std::uint64_t)) {
      auto sums = hn::Zero(d);
      for (; at + vector <= bytes; at += vector) {
        const auto code = hn::LoadU(d, reinterpret_cast<const std::uint64_t*>(codes + at));
        const auto q = hn::LoadU(d, reinterpret_cast<const std::uint64_t*>(query + at));
        sums = hn::Add(sums, hn::PopulationCount(hn::Xor(code, q)));
      }
      sum = hn::GetLane(hn::SumOfLanes(d, sums));
    }
    for (; at + 8 <= bytes; at += 8) sum += std::popcount(word_at(codes + at) ^ word_at(query + at));
    if (at < bytes) {
      const std::uint64_t last = word_at(codes + bytes - 8) ^ word_at(query + bytes - 8);
      sum += std::popcount(last >> 8 * (8 - (bytes - at)));
    }
    distances[i] = static_cast<std::uint16_t>(sum);
  }
}

void distances(const std::uint8_t* query, const std::uint8_t* codes, std::size_t bytes, std::size_t count,
               std::uint16_t* out) {
  switch (bytes) {
    case 1: return distances_by_lane<std::uint8_t>(query, codes, count, out);
    case 2: return distances_by_lane<std::uint16_t>(query, codes, count, out);
    case 3: return distances_by_halves<std::uint16_t, 3>(query, codes, count, out);
    case 4: return distances_by_lane<std::uint32_t>(query, codes, count, out);
    case 5: return distances_by_halves<std::uint32_t, 5>(query, codes, count, out);
    case 6: return distances_by_halves<std::uint32_t, 6>(query, codes, count, out);
    case 7: return distances_by_halves<std::uint32_t, 7>(query, codes, count, out);
    case 8: return distances_by_lane<std::uint64_t>(query, codes, count, out);
    default: return distances_one_by_one(query, codes, bytes, count, out);
  }
}

bool signs(const float* h, std::size_t bits, std::size_t count, std::uint8_t* codes) {
  const hn::CappedTag<float, 8> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto largest = hn::Set(d, std::numeric_limits<float>::max());
  const auto zero = hn::Zero(d);
  auto all_finite = hn::Eq(zero, zero);
  bool tail_finite = true;
  for (std::size_t j = 0; j < count; ++j, h += bits) {
    std::size_t i = 0;
    for (; i + 8 <= bits; i += 8) {
      unsigned byte = 0;
      for (std::size_t k = 0; k < 8; k += lanes) {
        const auto v = hn::LoadU(d, h + i + k);
        std::uint8_t part[8] = {};
        hn::StoreMaskBits(d, hn::Ge(v, zero), part);
        byte |= static_cast<unsigned>(part[0]) << k;
        all_finite = hn::And(all_finite, hn::Le(hn::Abs(v), largest));
      }
      *codes++ = static_cast<std::uint8_t>(byte);
    }
    if (i < bits) {
      unsigned byte = 0;
      for (std::size_t k = 0; i + k < bits; ++k) {
        const float v = h[i + k];
        byte |= static_cast<unsigned>(v >= 0) << k;
        tail_finite = tail_finite && v >= -std::numeric_limits<float>::max() && v <= std::numeric_limits<float>::max();
      }
      *codes++ = static_cast<std::uint8_t>(byte);
    }
  }
  return tail_finite && hn::AllTrue(d, all_finite);
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(distances);
HWY_EXPORT(signs);
}  // namespace

void hamming_distances(const std::uint8_t* query, const std::uint8_t* codes, std::size_t bytes, std::size_t count,
                       std::uint16_t* distances) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(distances)(query, codes, bytes, count, distances);
}

bool pack_signs(const float* h, std::size_t bits, std::size_t count, std::uint8_t* codes) {
  choose_simd_target();
  return HWY_DYNAMIC_DISPATCH(signs)(h, bits, count, codes);
}

namespace {

template <class T>
void unpack(const std::uint8_t* codes, std::size_t bits, std::size_t count, T* b) {
  static const auto kOfByte = [] {
    std::array<std::array<T, 8>, 256> all;
    for (unsigned byte = 0; byte < 256; ++byte) {
      for (unsigned k = 0; k < 8; ++k) all[byte][k] = static_cast<T>(sign_of_bit((byte >> k & 1U) != 0));
    }
    return all;
  }();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < bits; k += 8) {
      std::copy_n(kOfByte[*codes++].data(), std::min<std::size_t>(8, bits - k), b + i * bits + k);
    }
  }
}

}  // namespace

void unpack_signs(const std::uint8_t* codes, std::size_t bits, std::size_t count, float* b) {
  unpack(codes, bits, count, b);
}
void unpack_signs(const std::uint8_t* codes, std::size_t bits, std::size_t count, double* b) {
  unpack(codes, bits, count, b);
}

}  // namespace bdnn
#endif  // HWY_ONCE
