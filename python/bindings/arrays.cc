#include "arrays.h"

#include <string>

#include "bdnn/error.h"

namespace bdnn::python {
namespace {

// Holds a reference to a Python object; gives it back with the GIL, whichever thread lets go last.
template <class T>
std::shared_ptr<const T> shared(const py::array& array) {
  auto* const reference = new py::object(array);
  return {static_cast<const T*>(array.data()), [reference](const T*) {
            const py::gil_scoped_acquire gil;
            delete reference;
          }};
}

constexpr struct {
  char kind;
  py::ssize_t size;
  Element element;
} kTypes[] = {
    {'f', 2, Element::f16}, {'f', 4, Element::f32}, {'f', 8, Element::f64}, {'u', 1, Element::u8},
    {'i', 1, Element::i8},  {'u', 2, Element::u16}, {'i', 2, Element::i16}, {'u', 4, Element::u32},
    {'i', 4, Element::i32}, {'u', 8, Element::u64}, {'i', 8, Element::i64},
};

Element element_of(const py::dtype& type) {
  for (const auto& known : kTypes) {
    if (known.kind == type.kind() && known.size == type.itemsize()) return known.element;
  }
  throw Error(Error::Kind::misuse, "arrays of " + py::str(py::handle(type)).cast<std::string>() +
                                       " are not possible; give float32 or uint8");
}

py::dtype type_of(Element element) {
  for (const auto& known : kTypes) {
    if (known.element == element) return py::dtype(std::string(1, known.kind) + std::to_string(known.size));
  }
  throw Error(Error::Kind::failure, "unknown element type");
}

void check_layout(const py::array& array) {
  if (array.ndim() != 2 || (array.flags() & py::array::c_style) == 0) {
    throw Error(Error::Kind::misuse, "the array must have two dimensions and be in C order");
  }
}

}  // namespace

Vectors vectors_of(const py::array& array) {
  check_layout(array);
  const Shape shape{static_cast<std::size_t>(array.shape(1)), static_cast<std::size_t>(array.shape(0)),
                    element_of(array.dtype())};
  return {shape, shared<std::byte>(array)};
}

Codes codes_of(const py::array& array, std::size_t bits, CodesOrigin origin) {
  check_layout(array);
  if (element_of(array.dtype()) != Element::u8) throw Error(Error::Kind::misuse, "codes must be uint8");
  const auto bytes = static_cast<std::size_t>(array.shape(1));
  if (bits == 0) bits = 8 * bytes;
  if (bytes_for_bits(bits) != bytes) {
    throw Error(Error::Kind::misuse, "codes of " + std::to_string(bits) + " bits have " +
                                         std::to_string(bytes_for_bits(bits)) + " bytes each, and these have " +
                                         std::to_string(bytes));
  }
  try {
    return {bits, static_cast<std::size_t>(array.shape(0)), shared<std::uint8_t>(array), std::move(origin)};
  } catch (const Error& error) {
    throw Error(Error::Kind::misuse, error.what());  // in an array, whatever is wrong is the caller's
  }
}

py::array array_of(const Vectors& vectors, bool writeable) {
  auto owner = std::make_unique<Vectors>(vectors);
  const Shape shape = owner->shape();
  const void* const data = owner->data();
  const py::capsule capsule(owner.release(), [](void* p) { delete static_cast<Vectors*>(p); });
  py::array array(type_of(shape.element), {shape.count, shape.dimension}, data, capsule);
  if (!writeable) array.attr("flags").attr("writeable") = false;
  return array;
}

py::array array_of(const Codes& codes) {
  auto owner = std::make_unique<Codes>(codes);
  const std::size_t count = owner->size();
  const std::size_t bytes = owner->bytes_per_code();
  const void* const data = owner->data();
  const py::capsule capsule(owner.release(), [](void* p) { delete static_cast<Codes*>(p); });
  py::array array(py::dtype::of<std::uint8_t>(), {count, bytes}, data, capsule);
  array.attr("flags").attr("writeable") = false;
  return array;
}

}  // namespace bdnn::python
