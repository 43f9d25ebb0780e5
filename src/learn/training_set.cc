#include "learn/training_set.h"

#include "base/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learn/training_set.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, 16>;

// out = (x - offset) * factor.
template <class In, class Load>
HWY_INLINE void scale(const In* HWY_RESTRICT x, const float* HWY_RESTRICT offset, float factor, std::size_t n,
                      float* HWY_RESTRICT out, const Load& load) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Mul(hn::Sub(load(x + i), hn::LoadU(d, offset + i)), f), d, out + i);
  }
  for (; i < n; ++i) out[i] = (static_cast<float>(x[i]) - offset[i]) * factor;
}

void scale_f32(const float* x, const float* offset, float factor, std::size_t n, float* out) {
  scale(x, offset, factor, n, out, [](const float* p) HWY_ATTR { return hn::LoadU(Tag(), p); });
}

void scale_u8(const std::uint8_t* x, const float* offset, float factor, std::size_t n, float* out) {
  scale(x, offset, factor, n, out, [](const std::uint8_t* p) HWY_ATTR {
    const hn::Rebind<std::uint8_t, Tag> bytes;
    const hn::Rebind<std::int32_t, Tag> integers;
    return hn::ConvertTo(Tag(), hn::PromoteTo(integers, hn::LoadU(bytes, p)));
  });
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(scale_f32);
HWY_EXPORT(scale_u8);
}  // namespace

TrainingSet::TrainingSet(const Vectors& x, std::vector<std::uint32_t> rows, Scaling scaling)
    : x_(x), rows_(std::move(rows)), scaling_(std::move(scaling)) {
  choose_simd_target();
  const VectorXf offset = scaling_.offset.cast<float>();
  offset_.assign(offset.begin(), offset.end());
}

void TrainingSet::load_one(std::uint32_t row, float* out) const {
  const std::size_t dimension = x_.dimension();
  const auto factor = static_cast<float>(scaling_.factor);
  if (x_.shape().element == Element::u8) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(x_.data()) + std::size_t{row} * dimension;
    HWY_DYNAMIC_DISPATCH(scale_u8)(bytes, offset_.data(), factor, dimension, out);
    return;
  }
  thread_local std::vector<float> scratch;
  scratch.resize(dimension);
  const float* x = x_.floats(row, 1, scratch.data());
  HWY_DYNAMIC_DISPATCH(scale_f32)(x, offset_.data(), factor, dimension, out);
}

void TrainingSet::load(std::size_t first, std::size_t count, float* out) const {
  for (std::size_t i = 0; i < count; ++i) load_one(rows_[first + i], out + i * dimension());
  loaded_ += count;
}

void TrainingSet::load(std::size_t first, std::size_t count, double* out) const {
  std::vector<float> values(count * dimension());
  load(first, count, values.data());
  std::copy(values.begin(), values.end(), out);
}

void TrainingSet::load(const std::uint32_t* order, std::size_t count, float* out) const {
  for (std::size_t i = 0; i < count; ++i) load_one(rows_[order[i]], out + i * dimension());
  loaded_ += count;
}

}  // namespace bdnn
#endif  // HWY_ONCE
