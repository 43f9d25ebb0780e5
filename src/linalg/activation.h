// Operations after a product: a layer's bias and activation, derivatives, distances and Gaussians.
#pragma once

#include <cstddef>

namespace bdnn {

// h = h + bias, for each of the `count` columns of h (rows x count, column-major).
template <class T>
void add_bias(const T* bias, std::size_t rows, std::size_t count, T* h);

// h = 1 / (1 + exp(-(h + bias))). An entry's result does not depend on its place in h.
template <class T>
void add_bias_and_squash(const T* bias, std::size_t rows, std::size_t count, T* h);

// h = tanh(h + bias)
template <class T>
void add_bias_and_tanh(const T* bias, std::size_t rows, std::size_t count, T* h);

// h = exp(h + bias), 0 below the smallest normal float.
void add_bias_and_exp(const float* bias, std::size_t rows, std::size_t count, float* h);

// h = cos(h + bias), NaN beyond +-39,000 radians, where neighbouring floats are 1/256 of a radian apart.
void add_bias_and_cosine(const float* bias, std::size_t rows, std::size_t count, float* h);

// Turns products h = a_j^T x_i into ||x_i - a_j|| or exp(-gamma ||x_i - a_j||^2), given ||a_j||^2 (row_norms) and
// ||x_i||^2 (column_norms).
void products_to_distances(const float* row_norms, const float* column_norms, std::size_t rows, std::size_t count,
                           float* h);
void products_to_gaussians(const float* row_norms, const float* column_norms, float gamma, std::size_t rows,
                           std::size_t count, float* h);

// delta = delta * h (1 - h): backpropagation through the sigmoid with output h.
template <class T>
void through_sigmoid(const T* h, std::size_t size, T* delta);

// delta = delta * (1 - h^2): backpropagation through tanh.
template <class T>
void through_tanh(const T* h, std::size_t size, T* delta);

}  // namespace bdnn
