// The matrix types used inside the library: Eigen's, column-major, samples as columns. Eigen stays out of the public
// headers, because its memory layout changes with the compiler flags of whoever includes it.
#pragma once

#include <Eigen/Core>
#include <algorithm>

namespace bdnn {

using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;
using Eigen::VectorXf;
using RowMajorXf = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;  // weights of a layer

// Column-major views of memory owned elsewhere; columns may be further apart than they are long.
template <class T>
using ConstView = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>, 0, Eigen::OuterStride<>>;
template <class T>
using View = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>, 0, Eigen::OuterStride<>>;

inline ConstView<float> view(const float* data, std::size_t rows, std::size_t columns) {
  const auto r = static_cast<Eigen::Index>(rows);
  return {data, r, static_cast<Eigen::Index>(columns), Eigen::OuterStride<>(r)};
}
inline View<float> view(float* data, std::size_t rows, std::size_t columns) {
  const auto r = static_cast<Eigen::Index>(rows);
  return {data, r, static_cast<Eigen::Index>(columns), Eigen::OuterStride<>(r)};
}

// Fills the upper half of a square matrix from its lower half. In square blocks, which stay in the cache: along a whole
// row every number is in another cache line.
template <class T>
void mirror_lower_half(Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>& matrix) {
  constexpr Eigen::Index kBlock = 32;
  const Eigen::Index size = matrix.rows();
  for (Eigen::Index column = 0; column < size; column += kBlock) {
    const Eigen::Index columns = std::min(kBlock, size - column);
    for (Eigen::Index j = column; j < column + columns; ++j) {
      for (Eigen::Index i = column; i < j; ++i) matrix(i, j) = matrix(j, i);
    }
    for (Eigen::Index row = column + columns; row < size; row += kBlock) {
      const Eigen::Index rows = std::min(kBlock, size - row);
      for (Eigen::Index i = row; i < row + rows; ++i) {
        for (Eigen::Index j = column; j < column + columns; ++j) matrix(j, i) = matrix(i, j);
      }
    }
  }
}

// A sum of float matrices, kept in double.
struct DoubleSum {
  MatrixXd value;

  template <class Derived>
  DoubleSum& operator=(const Eigen::MatrixBase<Derived>& partial) {
    value = partial.template cast<double>();
    return *this;
  }
  DoubleSum& operator+=(const DoubleSum& other) {
    value += other.value;
    return *this;
  }
};

}  // namespace bdnn
