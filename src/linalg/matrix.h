// The matrix types used inside the library: Eigen's, column-major, samples as columns. Eigen stays out of the public
// headers, because its memory layout changes with the compiler flags of whoever includes it.
#pragma once

#include <Eigen/Core>

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
