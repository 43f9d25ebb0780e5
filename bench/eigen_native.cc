// Built with -march=native under a namespace of its own, so that the linker cannot mix its Eigen with the library's.
#define Eigen EigenNative
#include "eigen_native.h"

#include <Eigen/Core>

namespace bdnn::bench {

using EigenNative::ArrayXf;
using EigenNative::Lower;
using EigenNative::Map;
using EigenNative::MatrixXd;
using EigenNative::MatrixXf;

void eigen_multiply(const float* a, const float* b, float* c, long rows, long columns, long depth) {
  Map<MatrixXf>(c, rows, columns).noalias() =
      Map<const MatrixXf>(a, rows, depth) * Map<const MatrixXf>(b, depth, columns);
}

void eigen_multiply(const double* a, const double* b, double* c, long rows, long columns, long depth) {
  Map<MatrixXd>(c, rows, columns).noalias() =
      Map<const MatrixXd>(a, rows, depth) * Map<const MatrixXd>(b, depth, columns);
}

void eigen_add_transposed(const float* a, const float* b, float* c, long rows, long columns, long samples) {
  Map<MatrixXf>(c, rows, columns).noalias() +=
      Map<const MatrixXf>(a, rows, samples) * Map<const MatrixXf>(b, columns, samples).transpose();
}

void eigen_add_gram(const float* x, float* c, long dimension, long samples) {
  Map<MatrixXf> sum(c, dimension, dimension);
  sum.selfadjointView<Lower>().rankUpdate(Map<const MatrixXf>(x, dimension, samples));
}

void eigen_sigmoid(const float* bias, long rows, long columns, float* h) {
  auto z = Map<MatrixXf>(h, rows, columns).array();
  z = (z.colwise() + Map<const ArrayXf>(bias, rows)).logistic();
}

void eigen_tanh(const float* bias, long rows, long columns, float* h) {
  auto z = Map<MatrixXf>(h, rows, columns).array();
  z = (z.colwise() + Map<const ArrayXf>(bias, rows)).tanh();
}

}  // namespace bdnn::bench
