// Arrays in and out without a copy.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bdnn/codes.h"
#include "bdnn/vectors.h"

namespace bdnn::python {

namespace py = pybind11;

// The rows of an array as vectors, in place; they keep the array alive. The array is two-dimensional, in C order and in
// this machine's byte order (bdnn/_arrays.py sees to that), of any element type that bdnn has.
Vectors vectors_of(const py::array& array);

// The rows of a uint8 array as codes, in place; `bits` is 0 for all bits of their bytes.
Codes codes_of(const py::array& array, std::size_t bits, CodesOrigin origin = {});

// Arrays that own what they show; elements that others may share are read-only.
py::array array_of(const Vectors& vectors, bool writeable);
py::array array_of(const Codes& codes);

template <class T>
py::array_t<T> array_of(std::vector<T> values, std::vector<py::ssize_t> shape = {}) {
  if (shape.empty()) shape = {static_cast<py::ssize_t>(values.size())};
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = owner->data();
  const py::capsule capsule(owner.release(), [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return py::array_t<T>(std::move(shape), data, capsule);
}

template <class T>
std::vector<T> vector_of(const py::array_t<T, py::array::c_style>& array) {
  return {array.data(), array.data() + array.size()};
}

}  // namespace bdnn::python
