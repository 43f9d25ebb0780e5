// Matrix products at the speed of the machine, on one thread, in float or double.
//
// Written by hand, with kernels chosen at run time, because nothing in Debian gives these three together
// (bench/product_bench.cc measures it):
//   - speed on any x86-64 from one binary: Debian's OpenBLAS drops to SSE3 on CPUs it does not know, Eigen is as
//     fast as its compiler flags;
//   - the shapes of this field: a small left factor (weights) times block after block of samples. It is packed once,
//     and the samples are read where they stand;
//   - bits that do not move: each entry of a product is one chain of multiply-adds over k = 0, 1, 2, ..., so a sample
//     gets the same result in any block, at any place in it, for any number of threads and size of cache.
#pragma once

#include <cstddef>

#include "linalg/aligned.h"
#include "linalg/matrix.h"

namespace bdnn {

// The left factor A (rows x depth) of a product, laid out for the kernels: panels of rows, zero-padded.
template <class T>
class PackedMatrix {
 public:
  PackedMatrix() = default;

  // A column-major, columns `stride` elements apart.
  static PackedMatrix from_columns(const T* a, std::size_t rows, std::size_t depth, std::size_t stride);
  // A row-major, rows `stride` elements apart: the layout of weights in PyTorch and in our models.
  static PackedMatrix from_rows(const T* a, std::size_t rows, std::size_t depth, std::size_t stride);

  std::size_t rows() const { return rows_; }
  std::size_t depth() const { return depth_; }
  const T* data() const { return data_.data(); }

 private:
  PackedMatrix(std::size_t rows, std::size_t depth, std::size_t size) : rows_(rows), depth_(depth), data_(size) {}

  std::size_t rows_ = 0;
  std::size_t depth_ = 0;
  AlignedBuffer<T> data_;
};

// C = A B: `b` has A.depth() rows and `columns` columns, all column-major; strides are in elements.
template <class T>
void multiply(const PackedMatrix<T>& a, const T* b, std::size_t columns, std::size_t b_stride, T* c,
              std::size_t c_stride);

// C += A B^T, where A and B have one column per sample: `a` is (rows x samples), `b` (columns x samples). The sum over
// samples that gradients, covariances and ITQ's rotation are made of.
template <class T>
void add_product_transposed(const T* a, std::size_t rows, std::size_t a_stride, const T* b, std::size_t columns,
                            std::size_t b_stride, std::size_t samples, T* c, std::size_t c_stride);

// The lower triangle of C += X X^T, x (dimension x samples). Entries above the diagonal are unspecified.
template <class T>
void add_gram_lower(const T* x, std::size_t dimension, std::size_t x_stride, std::size_t samples, T* c,
                    std::size_t c_stride);

}  // namespace bdnn
