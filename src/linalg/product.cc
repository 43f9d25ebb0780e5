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

// A kernel keeps kTileColumns columns of two vectors in registers, with the two of A and one of B beside them; or twice
// as many columns of one vector, where no more rows are left.
#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t kTileColumns = 14;  // of 32 registers
#else
constexpr std::size_t kTileColumns = 6;  // of 16 registers
#endif
constexpr std::size_t kMostColumns = 2 * kTileColumns;
// Samples that a sum over samples takes at a time: a cache line of each and their panel of A stay in the first-level
// cache.
constexpr std::size_t kSamplesPerTile = 256;
// Cache lines of each sample that are copied together: memory delivers adjacent lines sooner.
constexpr std::size_t kLinesTogether = 8;

template <class T>
using Tag = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T>
constexpr std::size_t lanes() {
  return hn::MaxLanes(Tag<T>());
}

// The place of a tile in B: entry (k, j) is data[k * step + j * stride].
template <class T>
struct Right {
  const T* data;
  std::size_t step;
  std::size_t stride;
};

// memcpy() of fewer than `size` entries, a power of two, without the call.
template <std::size_t size, class T>
HWY_INLINE void copy_few(const T* from, std::size_t count, T* to) {
  if constexpr (size > 1) {
    constexpr std::size_t kHalf = size / 2;
    const bool half = (count & kHalf) != 0;
    if (half) std::memcpy(to, from, kHalf * sizeof(T));
    copy_few<kHalf>(half ? from + kHalf : from, count, half ? to + kHalf : to);
  }
}

// c (at most `vectors` vectors of rows x `columns` columns) = or += panel * b.
template <class T, std::size_t vectors, std::size_t columns>
void tile(std::size_t depth, const T* HWY_RESTRICT panel, const Right<T>& right, T* HWY_RESTRICT c,
          std::size_t c_stride, std::size_t rows, bool add) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr std::size_t kLanes = lanes<T>();
  constexpr bool kTwo = vectors == 2;
  const bool whole = rows == vectors * kLanes;
  V low[columns];
  V high[columns];  // unused if there is one vector
  alignas(64) T edge[vectors * kLanes];
  // Sums continue from c itself, so that splitting the depth does not change a bit of the result.
#pragma GCC unroll 32
  for (std::size_t j = 0; j < columns; ++j) {
    low[j] = high[j] = hn::Zero(d);
    if (add && whole) {
      low[j] = hn::LoadU(d, c + j * c_stride);
      if constexpr (kTwo) high[j] = hn::LoadU(d, c + j * c_stride + kLanes);
    } else if (add) {
      std::memset(edge, 0, sizeof edge);
      copy_few<vectors * kLanes>(c + j * c_stride, rows, edge);
      low[j] = hn::Load(d, edge);
      if constexpr (kTwo) high[j] = hn::Load(d, edge + kLanes);
    }
  }
  const T* HWY_RESTRICT b = right.data;
  const std::size_t stride = right.stride;
  for (std::size_t k = 0; k < depth; ++k) {
    const V a_low = hn::Load(d, panel);
    const V a_high = kTwo ? hn::Load(d, panel + kLanes) : a_low;
    panel += vectors * kLanes;
#pragma GCC unroll 32
    for (std::size_t j = 0; j < columns; ++j) {
      const V x = hn::Set(d, b[j * stride]);
      low[j] = hn::MulAdd(a_low, x, low[j]);
      if constexpr (kTwo) high[j] = hn::MulAdd(a_high, x, high[j]);
    }
    b += right.step;
  }
#pragma GCC unroll 32
  for (std::size_t j = 0; j < columns; ++j) {
    if (whole) {
      hn::StoreU(low[j], d, c + j * c_stride);
      if constexpr (kTwo) hn::StoreU(high[j], d, c + j * c_stride + kLanes);
    } else {
      hn::Store(low[j], d, edge);
      if constexpr (kTwo) hn::Store(high[j], d, edge + kLanes);
      copy_few<vectors * kLanes>(edge, rows, c + j * c_stride);
    }
  }
}

template <class T>
using TileFunction = void (*)(std::size_t, const T*, const Right<T>&, T*, std::size_t, std::size_t, bool);

// tile<T, vectors, 1>, tile<T, vectors, 2>, ... for the columns that are left over at an edge.
template <class T, std::size_t vectors, std::size_t... i>
constexpr std::array<TileFunction<T>, sizeof...(i)> tile_functions(std::index_sequence<i...>) {
  return {&tile<T, vectors, i + 1>...};
}
template <class T>
constexpr auto kTiles = tile_functions<T, 2>(std::make_index_sequence<kTileColumns>());
template <class T>
constexpr auto kLowTiles = tile_functions<T, 1>(std::make_index_sequence<kTileColumns>());

// A panel of A, whose rows begin with `first`, from column k on.
template <class T>
class Panel {
 public:
  Panel(const PackedMatrix<T>& a, std::size_t first, std::size_t k, std::size_t depth)
      : rows_(std::min(2 * lanes<T>(), a.rows() - first)),
        depth_(depth),
        data_(a.data() + first * a.depth() + k * (is_low() ? 1 : 2) * lanes<T>()) {}

  // How many of the remaining columns a kernel takes.
  std::size_t columns(std::size_t left) const {
    return is_low() && left >= kMostColumns ? kMostColumns : std::min(left, kTileColumns);
  }
  void times(const Right<T>& right, std::size_t columns, T* c, std::size_t c_stride, bool add) const {
    const TileFunction<T> kernel = !is_low()                 ? kTiles<T>[columns - 1]
                                   : columns == kMostColumns ? &tile<T, 1, kMostColumns>
                                                             : kLowTiles<T>[columns - 1];
    kernel(depth_, data_, right, c, c_stride, rows_, add);
  }

 private:
  bool is_low() const { return rows_ <= lanes<T>(); }

  std::size_t rows_;
  std::size_t depth_;
  const T* data_;
};

template <class T>
std::size_t panel_rows() {
  return 2 * lanes<T>();
}

template <class T>
void multiply_tiles(const PackedMatrix<T>& a, const T* b, std::size_t columns, std::size_t b_stride, T* c,
                    std::size_t c_stride) {
  for (std::size_t first = 0; first < columns; first += kMostColumns) {
    const std::size_t end = std::min(first + kMostColumns, columns);
    for (std::size_t r = 0; r < a.rows(); r += panel_rows<T>()) {
      const Panel<T> panel(a, r, 0, a.depth());
      for (std::size_t j = first, width = 0; j < end; j += width) {
        width = panel.columns(end - j);
        panel.times({b + j * b_stride, 1, b_stride}, width, c + j * c_stride + r, c_stride, false);
      }
    }
  }
}

// A few columns of B^T, copied with the cache lines of the samples one after the other.
template <class T>
class Lines {
 public:
  static constexpr std::size_t kColumns = 64 / sizeof(T);  // of a line
  static constexpr std::size_t kAllColumns = kLinesTogether * kColumns;

  // `columns` are those that B has from here on.
  void copy(const T* b, std::size_t b_stride, std::size_t samples, std::size_t columns) {
    for (std::size_t i = 0; i < samples; ++i, b += b_stride) {
      T* to = data_ + i * kColumns;
      if (columns >= kAllColumns) {
#pragma GCC unroll 8
        for (std::size_t j = 0; j < kAllColumns; j += kColumns, to += kLine) {
          __builtin_prefetch(b + kAllColumns + j, 0, 2);
          std::memcpy(to, b + j, kColumns * sizeof(T));
        }
      } else {
        for (std::size_t j = 0; j < columns; j += kColumns, to += kLine) {
          std::copy_n(b + j, std::min(kColumns, columns - j), to);
        }
      }
    }
  }
  Right<T> at(std::size_t column) const { return {data_ + column / kColumns * kLine + column % kColumns, kColumns, 1}; }

 private:
  static constexpr std::size_t kLine = kSamplesPerTile * kColumns;

  alignas(64) T data_[kLinesTogether * kLine];
};

// As add_product_transposed; where `lower` is set, panels wholly above the diagonal are skipped.
template <class T>
void add_tiles(const PackedMatrix<T>& a, const T* b, std::size_t columns, std::size_t b_stride, T* c,
               std::size_t c_stride, bool lower) {
  // A line is cut into tiles as even as can be: 6 + 6 + 4 columns, which take the time that 16 should.
  constexpr std::size_t kTilesPerLine = (Lines<T>::kColumns + kTileColumns - 1) / kTileColumns;
  constexpr std::size_t kWidth = (Lines<T>::kColumns + kTilesPerLine - 1) / kTilesPerLine;
  Lines<T> lines;
  for (std::size_t k = 0; k < a.depth(); k += kSamplesPerTile) {
    const std::size_t depth = std::min(kSamplesPerTile, a.depth() - k);
    for (std::size_t line = 0; line < columns; line += Lines<T>::kColumns) {
      const std::size_t end = std::min(line + Lines<T>::kColumns, columns);
      const std::size_t ahead = line % Lines<T>::kAllColumns;
      if (ahead == 0) lines.copy(b + k * b_stride + line, b_stride, depth, columns - line);
      for (std::size_t r = lower ? line / panel_rows<T>() * panel_rows<T>() : 0; r < a.rows(); r += panel_rows<T>()) {
        const Panel<T> panel(a, r, k, depth);
        for (std::size_t j = line; j < end; j += kWidth) {
          panel.times(lines.at(ahead + j - line), std::min(kWidth, end - j), c + j * c_stride + r, c_stride, true);
        }
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

// A panel has two vectors of rows, the last one if no more are left.
std::size_t padded_height(std::size_t height, std::size_t panel) { return 2 * height <= panel ? panel / 2 : panel; }

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
  // Along the columns, as they stand in memory.
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t r = 0; r < rows; r += panel) {
      const std::size_t height = std::min(panel, rows - r);
      const std::size_t padded = padded_height(height, panel);
      T* out = packed.data_.data() + r * depth + k * padded;
      std::copy_n(a + k * stride + r, height, out);
      std::fill(out + height, out + padded, T{0});
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
    const std::size_t padded = padded_height(std::min(panel, rows - r), panel);
    for (std::size_t i = 0; i < padded; ++i) {
      for (std::size_t k = 0; k < depth; ++k) out[k * padded + i] = r + i < rows ? a[(r + i) * stride + k] : T{0};
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
