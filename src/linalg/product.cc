#include "linalg/product.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "linalg/product.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A kernel keeps kTileColumns columns of two vectors in registers, with the two of A and one of B beside them.
#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t kTileColumns = 14;  // of 32 registers
#else
constexpr std::size_t kTileColumns = 6;  // of 16 registers
#endif
// How many samples of B^T are copied together at a time: with their A panel they stay in the first-level cache.
constexpr std::size_t kDepthPerTile = 256;
constexpr std::size_t kTileStride = 16;

template <class T>
using Tag = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T>
constexpr std::size_t lanes() {
  return hn::MaxLanes(Tag<T>());
}

// c (at most two vectors of rows x columns) = or += panel * b, where b(k, j) stands at b[k * step + j * stride].
template <class T, std::size_t columns>
HWY_INLINE void tile(std::size_t depth, const T* HWY_RESTRICT panel, const T* HWY_RESTRICT b, std::size_t step,
                     std::size_t stride, T* HWY_RESTRICT c, std::size_t c_stride, std::size_t rows, bool add) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t kLanes = lanes<T>();
  const bool whole = rows == 2 * kLanes;
  V low[columns];
  V high[columns];
  alignas(64) T edge[2 * kLanes];
  // Sums go on from c itself, so that splitting the depth does not change a bit of the result.
#pragma GCC unroll 16
  for (std::size_t j = 0; j < columns; ++j) {
    if (!add) {
      low[j] = high[j] = hn::Zero(d);
    } else if (whole) {
      low[j] = hn::LoadU(d, c + j * c_stride);
      high[j] = hn::LoadU(d, c + j * c_stride + kLanes);
    } else {
      std::memset(edge, 0, sizeof edge);
      std::memcpy(edge, c + j * c_stride, rows * sizeof(T));
      low[j] = hn::Load(d, edge);
      high[j] = hn::Load(d, edge + kLanes);
    }
  }
  for (std::size_t k = 0; k < depth; ++k) {
    const V a_low = hn::Load(d, panel);
    const V a_high = hn::Load(d, panel + kLanes);
    panel += 2 * kLanes;
#pragma GCC unroll 16
    for (std::size_t j = 0; j < columns; ++j) {
      const V x = hn::Set(d, b[j * stride]);
      low[j] = hn::MulAdd(a_low, x, low[j]);
      high[j] = hn::MulAdd(a_high, x, high[j]);
    }
    b += step;
  }
#pragma GCC unroll 16
  for (std::size_t j = 0; j < columns; ++j) {
    if (whole) {
      hn::StoreU(low[j], d, c + j * c_stride);
      hn::StoreU(high[j], d, c + j * c_stride + kLanes);
    } else {
      hn::Store(low[j], d, edge);
      hn::Store(high[j], d, edge + kLanes);
      std::memcpy(c + j * c_stride, edge, rows * sizeof(T));
    }
  }
}

template <class T>
using TileFunction = void (*)(std::size_t, const T*, const T*, std::size_t, std::size_t, T*, std::size_t, std::size_t,
                              bool);

// tile<T, 1>, tile<T, 2>, ... for the columns that are left over at an edge.
template <class T, std::size_t... i>
constexpr std::array<TileFunction<T>, sizeof...(i)> tile_functions(std::index_sequence<i...>) {
  return {&tile<T, i + 1>...};
}
template <class T>
constexpr auto kTiles = tile_functions<T>(std::make_index_sequence<kTileColumns>());

template <class T>
std::size_t panel_rows() {
  return 2 * lanes<T>();
}

template <class T>
void multiply_tiles(const PackedMatrix<T>& a, const T* b, std::size_t columns, std::size_t b_stride, T* c,
                    std::size_t c_stride) {
  constexpr std::size_t kPanel = 2 * lanes<T>();
  for (std::size_t j = 0; j < columns; j += kTileColumns) {
    const std::size_t width = std::min(kTileColumns, columns - j);
    for (std::size_t r = 0; r < a.rows(); r += kPanel) {
      const std::size_t rows = std::min(kPanel, a.rows() - r);
      kTiles<T>[width - 1](a.depth(), a.data() + r * a.depth(), b + j * b_stride, 1, b_stride, c + j * c_stride + r,
                           c_stride, rows, false);
    }
  }
}

// As add_product_transposed; where `lower` is set, panels that lie wholly above the diagonal are left out.
template <class T>
void add_tiles(const PackedMatrix<T>& a, const T* b, std::size_t columns, std::size_t b_stride, T* c,
               std::size_t c_stride, bool lower) {
  constexpr std::size_t kPanel = 2 * lanes<T>();
  alignas(64) T together[kDepthPerTile * kTileStride];
  for (std::size_t k = 0; k < a.depth(); k += kDepthPerTile) {
    const std::size_t depth = std::min(kDepthPerTile, a.depth() - k);
    for (std::size_t j = 0; j < columns; j += kTileColumns) {
      const std::size_t width = std::min(kTileColumns, columns - j);
      const T* from = b + k * b_stride + j;
      if (j + kTileStride <= columns) {  // a whole cache line may be read
        for (std::size_t i = 0; i < depth; ++i, from += b_stride) {
          __builtin_prefetch(from + kTileStride);
          std::memcpy(together + i * kTileStride, from, kTileStride * sizeof(T));
        }
      } else {
        for (std::size_t i = 0; i < depth; ++i, from += b_stride) {
          std::copy_n(from, width, together + i * kTileStride);
        }
      }
      const std::size_t first = lower ? j / kPanel * kPanel : 0;
      for (std::size_t r = first; r < a.rows(); r += kPanel) {
        const std::size_t rows = std::min(kPanel, a.rows() - r);
        kTiles<T>[width - 1](depth, a.data() + r * a.depth() + k * kPanel, together, kTileStride, 1,
                             c + j * c_stride + r, c_stride, rows, true);
      }
    }
  }
}

std::size_t panel_rows_float() { return panel_rows<float>(); }
std::size_t panel_rows_double() { return panel_rows<double>(); }
void multiply_float(const PackedMatrix<float>& a, const float* b, std::size_t columns, std::size_t b_stride, float* c,
                    std::size_t c_stride) {
  multiply_tiles(a, b, columns, b_stride, c, c_stride);
}
void multiply_double(const PackedMatrix<double>& a, const double* b, std::size_t columns, std::size_t b_stride,
                     double* c, std::size_t c_stride) {
  multiply_tiles(a, b, columns, b_stride, c, c_stride);
}
void add_transposed_float(const PackedMatrix<float>& a, const float* b, std::size_t columns, std::size_t b_stride,
                          float* c, std::size_t c_stride, bool lower) {
  add_tiles(a, b, columns, b_stride, c, c_stride, lower);
}
void add_transposed_double(const PackedMatrix<double>& a, const double* b, std::size_t columns, std::size_t b_stride,
                           double* c, std::size_t c_stride, bool lower) {
  add_tiles(a, b, columns, b_stride, c, c_stride, lower);
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {

HWY_EXPORT(panel_rows_float);
HWY_EXPORT(panel_rows_double);
HWY_EXPORT(multiply_float);
HWY_EXPORT(multiply_double);
HWY_EXPORT(add_transposed_float);
HWY_EXPORT(add_transposed_double);

template <class T>
std::size_t panel_rows() {
  choose_simd_target();
  if constexpr (std::is_same_v<T, float>) return HWY_DYNAMIC_DISPATCH(panel_rows_float)();
  return HWY_DYNAMIC_DISPATCH(panel_rows_double)();
}

template <class T>
void add_transposed(const T* a, std::size_t rows, std::size_t a_stride, const T* b, std::size_t columns,
                    std::size_t b_stride, std::size_t samples, T* c, std::size_t c_stride, bool lower) {
  const auto packed = PackedMatrix<T>::from_columns(a, rows, samples, a_stride);
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(add_transposed_float)(packed, b, columns, b_stride, c, c_stride, lower);
  } else {
    HWY_DYNAMIC_DISPATCH(add_transposed_double)(packed, b, columns, b_stride, c, c_stride, lower);
  }
}

}  // namespace

template <class T>
PackedMatrix<T> PackedMatrix<T>::from_columns(const T* a, std::size_t rows, std::size_t depth, std::size_t stride) {
  const std::size_t panel = panel_rows<T>();
  PackedMatrix packed(rows, depth, (rows + panel - 1) / panel * panel * depth);
  T* out = packed.data_.data();
  for (std::size_t r = 0; r < rows; r += panel) {
    const std::size_t height = std::min(panel, rows - r);
    for (std::size_t k = 0; k < depth; ++k, out += panel) {
      std::copy_n(a + k * stride + r, height, out);
      std::fill(out + height, out + panel, T{0});
    }
  }
  return packed;
}

template <class T>
PackedMatrix<T> PackedMatrix<T>::from_rows(const T* a, std::size_t rows, std::size_t depth, std::size_t stride) {
  const std::size_t panel = panel_rows<T>();
  PackedMatrix packed(rows, depth, (rows + panel - 1) / panel * panel * depth);
  T* out = packed.data_.data();
  for (std::size_t r = 0; r < rows; r += panel, out += panel * depth) {
    for (std::size_t i = 0; i < panel; ++i) {
      for (std::size_t k = 0; k < depth; ++k) out[k * panel + i] = r + i < rows ? a[(r + i) * stride + k] : T{0};
    }
  }
  return packed;
}

template <class T>
void multiply(const PackedMatrix<T>& a, const T* b, std::size_t columns, std::size_t b_stride, T* c,
              std::size_t c_stride) {
  if constexpr (std::is_same_v<T, float>) {
    HWY_DYNAMIC_DISPATCH(multiply_float)(a, b, columns, b_stride, c, c_stride);
  } else {
    HWY_DYNAMIC_DISPATCH(multiply_double)(a, b, columns, b_stride, c, c_stride);
  }
}

template <class T>
void add_product_transposed(const T* a, std::size_t rows, std::size_t a_stride, const T* b, std::size_t columns,
                            std::size_t b_stride, std::size_t samples, T* c, std::size_t c_stride) {
  add_transposed(a, rows, a_stride, b, columns, b_stride, samples, c, c_stride, false);
}

template <class T>
void add_gram_lower(const T* x, std::size_t dimension, std::size_t x_stride, std::size_t samples, T* c,
                    std::size_t c_stride) {
  add_transposed(x, dimension, x_stride, x, dimension, x_stride, samples, c, c_stride, true);
}

#define BDNN_INSTANTIATE(T)                                                                                    \
  template class PackedMatrix<T>;                                                                              \
  template void multiply(const PackedMatrix<T>&, const T*, std::size_t, std::size_t, T*, std::size_t);         \
  template void add_product_transposed(const T*, std::size_t, std::size_t, const T*, std::size_t, std::size_t, \
                                       std::size_t, T*, std::size_t);                                          \
  template void add_gram_lower(const T*, std::size_t, std::size_t, std::size_t, T*, std::size_t);
BDNN_INSTANTIATE(float)
BDNN_INSTANTIATE(double)
#undef BDNN_INSTANTIATE

}  // namespace bdnn
#endif  // HWY_ONCE
