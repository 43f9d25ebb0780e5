#include "evaluate/select_kernel.h"

#include <bit>

#include "base/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "evaluate/select_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, kQueriesTogether>;

void collect(const float* HWY_RESTRICT products, const float* HWY_RESTRICT square_norms, std::size_t columns,
             std::int32_t first_id, const CandidateLists& lists) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < columns; ++j, products += lists.queries) {
    const auto norm = hn::Set(d, square_norms[j]);
    const auto id = first_id + static_cast<std::int32_t>(j);
    for (std::size_t i = 0; i < lists.queries; i += lanes) {
      const auto scores = hn::Add(hn::LoadU(d, products + i), norm);
      const auto within = hn::Le(scores, hn::LoadU(d, lists.bounds + i));
      if (HWY_LIKELY(hn::AllFalse(d, within))) continue;
      alignas(64) float score[kQueriesTogether];
      hn::Store(scores, d, score);
      std::uint8_t bytes[8] = {};
      hn::StoreMaskBits(d, within, bytes);
      for (unsigned bits = bytes[0] | static_cast<unsigned>(bytes[1]) << 8; bits != 0; bits &= bits - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(bits));
        const std::size_t query = i + lane;
        if (lists.self[query] == id) continue;
        lists.candidates[query * lists.capacity + lists.sizes[query]++] = {score[lane], id};
      }
    }
  }
}

HWY_INLINE hn::Vec<Floats> load(Floats d, const float* x) { return hn::LoadU(d, x); }
HWY_INLINE hn::Vec<Floats> load(Floats d, const std::uint8_t* x) {
  const hn::Rebind<std::uint8_t, Floats> bytes;
  const hn::Rebind<std::int32_t, Floats> integers;
  return hn::ConvertTo(d, hn::PromoteTo(integers, hn::LoadU(bytes, x)));
}

template <class T>
HWY_INLINE void shift(const T* x, std::size_t n, float factor, const float* centre, float* out) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const auto by = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::MulSub(load(d, x + i), by, hn::LoadU(d, centre + i)), d, out + i);
  }
  for (; i < n; ++i) out[i] = static_cast<float>(x[i]) * factor - centre[i];
}

void shift_floats(const float* x, std::size_t n, float factor, const float* centre, float* out) {
  shift(x, n, factor, centre, out);
}
void shift_bytes(const std::uint8_t* x, std::size_t n, float factor, const float* centre, float* out) {
  shift(x, n, factor, centre, out);
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(collect);
HWY_EXPORT(shift_floats);
HWY_EXPORT(shift_bytes);
}  // namespace

void collect_within(const float* products, const float* square_norms, std::size_t columns, std::int32_t first_id,
                    const CandidateLists& lists) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(collect)(products, square_norms, columns, first_id, lists);
}

void scale_and_shift(const float* x, std::size_t n, float factor, const float* centre, float* out) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(shift_floats)(x, n, factor, centre, out);
}

void scale_and_shift(const std::uint8_t* x, std::size_t n, float factor, const float* centre, float* out) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(shift_bytes)(x, n, factor, centre, out);
}

}  // namespace bdnn
#endif  // HWY_ONCE
