// What follows a layer's product: its bias, and the sigmoid with its derivative.
#pragma once

#include <cstddef>

namespace bdnn {

// h = h + bias, for each of the `count` columns of h (rows x count, column-major).
template <class T>
void add_bias(const T* bias, std::size_t rows, std::size_t count, T* h);

// h = 1 / (1 + exp(-(h + bias))). An entry's result does not depend on where in h it stands.
template <class T>
void add_bias_and_squash(const T* bias, std::size_t rows, std::size_t count, T* h);

// delta = delta * h (1 - h): the way back through the sigmoid, where h is what it gave.
template <class T>
void through_sigmoid(const T* h, std::size_t size, T* delta);

}  // namespace bdnn
