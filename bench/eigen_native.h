// Eigen's products and functions, compiled for the machine that compiles: the rival of product_bench and
// activation_bench.
#pragma once

#include <cstddef>

namespace bdnn::bench {

void eigen_multiply(const float* a, const float* b, float* c, long rows, long columns, long depth);
void eigen_multiply(const double* a, const double* b, double* c, long rows, long columns, long depth);
void eigen_add_transposed(const float* a, const float* b, float* c, long rows, long columns, long samples);
void eigen_add_gram(const float* x, float* c, long dimension, long samples);
void eigen_sigmoid(const float* bias, long rows, long columns, float* h);
void eigen_tanh(const float* bias, long rows, long columns, float* h);

}  // namespace bdnn::bench
