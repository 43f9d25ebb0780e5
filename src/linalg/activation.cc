#include "linalg/activation.h"

#include <algorithm>

#include "base/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "linalg/activation.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
//
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::CappedTag<T, 64 / sizeof(T)>;

// f(a, b) of the vectors of two arrays, written to the second; the rest at the end goes through the same code.
template <class T, class F>
HWY_INLINE void transform(const T* HWY_RESTRICT a, std::size_t size, T* HWY_RESTRICT b, const F& f) {
  const Tag<T> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, b + i);
  if (i == size) return;
  alignas(64) T rest_a[kLanes] = {};
  alignas(64) T rest_b[kLanes] = {};
  std::copy(a + i, a + size, rest_a);
  std::copy(b + i, b + size, rest_b);
  hn::Store(f(hn::Load(d, rest_a), hn::Load(d, rest_b)), d, rest_b);
  std::copy_n(rest_b, size - i, b + i);
}

template <class T>
void bias_only(const T* bias, std::size_t rows, std::size_t count, T* h) {
  for (std::size_t j = 0; j < count; ++j, h += rows) {
    transform(bias, rows, h, [](auto b, auto z) HWY_ATTR { return hn::Add(z, b); });
  }
}

template <class T>
void bias_and_sigmoid(const T* bias, std::size_t rows, std::size_t count, T* h) {
  const Tag<T> d;
  const auto one = hn::Set(d, T{1});
  // Beyond this the sigmoid is 0 or 1 in T, and Exp() leaves its range.
  const auto limit = hn::Set(d, sizeof(T) == 4 ? T{80} : T{700});
  for (std::size_t j = 0; j < count; ++j, h += rows) {
    transform(bias, rows, h, [&](auto b, auto z) HWY_ATTR {
      const auto x = hn::Clamp(hn::Neg(hn::Add(z, b)), hn::Neg(limit), limit);
      return hn::Div(one, hn::Add(one, hn::Exp(d, x)));
    });
  }
}

template <class T>
void sigmoid_back(const T* h, std::size_t size, T* delta) {
  transform(h, size, delta, [](auto y, auto v) HWY_ATTR { return hn::Mul(v, hn::NegMulAdd(y, y, y)); });
}

void bias_f32(const float* bias, std::size_t rows, std::size_t count, float* h) { bias_only(bias, rows, count, h); }
void bias_f64(const double* bias, std::size_t rows, std::size_t count, double* h) { bias_only(bias, rows, count, h); }
void squash_f32(const float* bias, std::size_t rows, std::size_t count, float* h) {
  bias_and_sigmoid(bias, rows, count, h);
}
void squash_f64(const double* bias, std::size_t rows, std::size_t count, double* h) {
  bias_and_sigmoid(bias, rows, count, h);
}
void back_f32(const float* h, std::size_t size, float* delta) { sigmoid_back(h, size, delta); }
void back_f64(const double* h, std::size_t size, double* delta) { sigmoid_back(h, size, delta); }

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(bias_f32);
HWY_EXPORT(bias_f64);
HWY_EXPORT(squash_f32);
HWY_EXPORT(squash_f64);
HWY_EXPORT(back_f32);
HWY_EXPORT(back_f64);
}  // namespace

template <>
void add_bias(const float* bias, std::size_t rows, std::size_t count, float* h) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(bias_f32)(bias, rows, count, h);
}
template <>
void add_bias(const double* bias, std::size_t rows, std::size_t count, double* h) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(bias_f64)(bias, rows, count, h);
}
template <>
void add_bias_and_squash(const float* bias, std::size_t rows, std::size_t count, float* h) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(squash_f32)(bias, rows, count, h);
}
template <>
void add_bias_and_squash(const double* bias, std::size_t rows, std::size_t count, double* h) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(squash_f64)(bias, rows, count, h);
}
template <>
void through_sigmoid(const float* h, std::size_t size, float* delta) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(back_f32)(h, size, delta);
}
template <>
void through_sigmoid(const double* h, std::size_t size, double* delta) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(back_f64)(h, size, delta);
}

}  // namespace bdnn
#endif  // HWY_ONCE
