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

// f(bias, h) for each of the `count` columns of h. Columns are contiguous: if rows do not fill up vectors, a vector
// that holds the end of one column and the start of the next gets the bias of both.
template <class T, class F>
HWY_INLINE void transform_columns(const T* bias, std::size_t rows, std::size_t count, T* h, const F& f) {
  const Tag<T> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  constexpr std::size_t kMostRows = 512;  // of many rows, the last vector matters little
  if (rows == 0) return;
  if (rows % kLanes == 0 || rows > kMostRows) {
    for (std::size_t j = 0; j < count; ++j) transform(bias, rows, h + j * rows, f);
    return;
  }
  alignas(64) T repeated[kMostRows + kLanes];
  for (std::size_t i = 0; i < rows + kLanes; ++i) repeated[i] = i < rows ? bias[i] : repeated[i - rows];
  const std::size_t size = rows * count;
  const std::size_t step = kLanes % rows;
  std::size_t row = 0;
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    hn::StoreU(f(hn::LoadU(d, repeated + row), hn::LoadU(d, h + i)), d, h + i);
    row += step;
    if (row >= rows) row -= rows;
  }
  transform(repeated + row, size - i, h + i, f);
}

template <class T>
void bias_only(const T* bias, std::size_t rows, std::size_t count, T* h) {
  transform_columns(bias, rows, count, h, [](auto b, auto z) HWY_ATTR { return hn::Add(z, b); });
}

template <class T>
void bias_and_sigmoid(const T* bias, std::size_t rows, std::size_t count, T* h) {
  const Tag<T> d;
  const auto one = hn::Set(d, T{1});
  // Beyond this the sigmoid is 0 or 1 in T, and Exp() leaves its range.
  const auto limit = hn::Set(d, sizeof(T) == 4 ? T{80} : T{700});
  transform_columns(bias, rows, count, h, [&](auto b, auto z) HWY_ATTR {
    const auto x = hn::Clamp(hn::Neg(hn::Add(z, b)), hn::Neg(limit), limit);
    return hn::Div(one, hn::Add(one, hn::Exp(d, x)));
  });
}

template <class T>
void sigmoid_back(const T* h, std::size_t size, T* delta) {
  transform(h, size, delta, [](auto y, auto v) HWY_ATTR { return hn::Mul(v, hn::NegMulAdd(y, y, y)); });
}

template <class T>
void tanh_back(const T* h, std::size_t size, T* delta) {
  const auto one = hn::Set(Tag<T>(), T{1});
  transform(h, size, delta, [&](auto y, auto v) HWY_ATTR { return hn::Mul(v, hn::NegMulAdd(y, y, one)); });
}

template <class T>
void bias_and_tanh(const T* bias, std::size_t rows, std::size_t count, T* h) {
  const Tag<T> d;
  const auto limit = hn::Set(d, T{40});  // beyond, tanh is +-1
  transform_columns(bias, rows, count, h, [&](auto b, auto z) HWY_ATTR {
    return hn::Tanh(d, hn::Clamp(hn::Add(z, b), hn::Neg(limit), limit));
  });
}

void bias_and_exp(const float* bias, std::size_t rows, std::size_t count, float* h) {
  const Tag<float> d;
  const auto least = hn::Set(d, -87.0F);
  transform_columns(bias, rows, count, h, [&](auto b, auto z) HWY_ATTR {
    const auto x = hn::Add(z, b);
    return hn::IfThenElseZero(hn::Ge(x, least), hn::Exp(d, hn::Max(x, least)));
  });
}

void bias_and_cosine(const float* bias, std::size_t rows, std::size_t count, float* h) {
  const Tag<float> d;
  const auto limit = hn::Set(d, 39000.0F);  // of Cos()
  const auto undefined = hn::NaN(d);
  transform_columns(bias, rows, count, h, [&](auto b, auto z) HWY_ATTR {
    const auto x = hn::Add(z, b);
    return hn::IfThenElse(hn::Le(hn::Abs(x), limit), hn::Cos(d, x), undefined);
  });
}

// f of the squared distances; rounding may leave one a little below zero.
template <class F>
HWY_INLINE void squared_distances(const float* row_norms, const float* column_norms, std::size_t rows,
                                  std::size_t count, float* h, const F& f) {
  const Tag<float> d;
  const auto minus_two = hn::Set(d, -2.0F);
  for (std::size_t j = 0; j < count; ++j, h += rows) {
    const auto own = hn::Set(d, column_norms[j]);
    transform(row_norms, rows, h, [&](auto norm, auto product) HWY_ATTR {
      return f(hn::Max(hn::Zero(d), hn::Add(hn::Add(own, norm), hn::Mul(minus_two, product))));
    });
  }
}

void distances(const float* row_norms, const float* column_norms, std::size_t rows, std::size_t count, float* h) {
  squared_distances(row_norms, column_norms, rows, count, h, [](auto squared) HWY_ATTR { return hn::Sqrt(squared); });
}

void gaussians(const float* row_norms, const float* column_norms, float gamma, std::size_t rows, std::size_t count,
               float* h) {
  const Tag<float> d;
  const auto factor = hn::Set(d, -gamma);
  const auto least = hn::Set(d, -87.0F);  // where exp() of a float leaves the normal numbers
  squared_distances(row_norms, column_norms, rows, count, h, [&](auto squared) HWY_ATTR {
    const auto x = hn::Mul(factor, squared);
    return hn::IfThenElseZero(hn::Ge(x, least), hn::Exp(d, hn::Max(x, least)));
  });
}

void bias_f32(const float* bias, std::size_t rows, std::size_t count, float* h) { bias_only(bias, rows, count, h); }
void bias_f64(const double* bias, std::size_t rows, std::size_t count, double* h) { bias_only(bias, rows, count, h); }
void squash_f32(const float* bias, std::size_t rows, std::size_t count, float* h) {
  bias_and_sigmoid(bias, rows, count, h);
}
void squash_f64(const double* bias, std::size_t rows, std::size_t count, double* h) {
  bias_and_sigmoid(bias, rows, count, h);
}
void tanh_f32(const float* bias, std::size_t rows, std::size_t count, float* h) { bias_and_tanh(bias, rows, count, h); }
void tanh_f64(const double* bias, std::size_t rows, std::size_t count, double* h) {
  bias_and_tanh(bias, rows, count, h);
}
void back_f32(const float* h, std::size_t size, float* delta) { sigmoid_back(h, size, delta); }
void back_f64(const double* h, std::size_t size, double* delta) { sigmoid_back(h, size, delta); }
void tanh_back_f32(const float* h, std::size_t size, float* delta) { tanh_back(h, size, delta); }
void tanh_back_f64(const double* h, std::size_t size, double* delta) { tanh_back(h, size, delta); }

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
HWY_EXPORT(tanh_f32);
HWY_EXPORT(tanh_f64);
HWY_EXPORT(bias_and_exp);
HWY_EXPORT(bias_and_cosine);
HWY_EXPORT(distances);
HWY_EXPORT(gaussians);
HWY_EXPORT(back_f32);
HWY_EXPORT(back_f64);
HWY_EXPORT(tanh_back_f32);
HWY_EXPORT(tanh_back_f64);
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
void add_bias_and_tanh(const float* bias, std::size_t rows, std::size_t count, float* h) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(tanh_f32)(bias, rows, count, h);
}
template <>
void add_bias_and_tanh(const double* bias, std::size_t rows, std::size_t count, double* h) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(tanh_f64)(bias, rows, count, h);
}
void add_bias_and_exp(const float* bias, std::size_t rows, std::size_t count, float* h) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(bias_and_exp)(bias, rows, count, h);
}
void add_bias_and_cosine(const float* bias, std::size_t rows, std::size_t count, float* h) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(bias_and_cosine)(bias, rows, count, h);
}
void products_to_distances(const float* row_norms, const float* column_norms, std::size_t rows, std::size_t count,
                           float* h) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(distances)(row_norms, column_norms, rows, count, h);
}
void products_to_gaussians(const float* row_norms, const float* column_norms, float gamma, std::size_t rows,
                           std::size_t count, float* h) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(gaussians)(row_norms, column_norms, gamma, rows, count, h);
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
template <>
void through_tanh(const float* h, std::size_t size, float* delta) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(tanh_back_f32)(h, size, delta);
}
template <>
void through_tanh(const double* h, std::size_t size, double* delta) {
  choose_simd_target();
  HWY_DYNAMIC_DISPATCH(tanh_back_f64)(h, size, delta);
}

}  // namespace bdnn
#endif  // HWY_ONCE
