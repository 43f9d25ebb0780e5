#include "bdnn/vectors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/sizes.h"
#include "data/element.h"
#include "data/format.h"

namespace bdnn {

std::size_t size_of(Element element) {
  return visit_element(element, [](auto type) { return sizeof(typename decltype(type)::type); });
}

std::string_view name_of(Element element) {
  switch (element) {
    case Element::f16: return "f16";
    case Element::f32: return "f32";
    case Element::f64: return "f64";
    case Element::u8: return "u8";
    case Element::i8: return "i8";
    case Element::u16: return "u16";
    case Element::i16: return "i16";
    case Element::u32: return "u32";
    case Element::i32: return "i32";
    case Element::u64: return "u64";
    case Element::i64: return "i64";
  }
  return "unknown";
}

Vectors::Vectors(Shape shape, std::shared_ptr<const std::byte> data) : shape_(shape), data_(std::move(data)) {
  std::uint64_t bytes = size_of(shape.element);
  if (!multiply_checked(bytes, shape.dimension) || !multiply_checked(bytes, shape.count)) {
    misuse("{} vectors of dimension {} are more than memory can hold", shape.count, shape.dimension);
  }
  if (bytes > 0 && data_ == nullptr) misuse("{} vectors were given without their elements", shape.count);
}

Vectors::Vectors(std::size_t dimension, std::size_t count, std::vector<float> values)
    : shape_{dimension, count, Element::f32} {
  std::uint64_t expected = dimension;
  if (!multiply_checked(expected, count) || values.size() != expected) {
    misuse("{} values were given for {} vectors of dimension {}; give one for each of their elements", values.size(),
           count, dimension);
  }
  auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  data_ = {owner, reinterpret_cast<const std::byte*>(owner->data())};
}

Vectors Vectors::view(const float* values, std::size_t dimension, std::size_t count) {
  return {{dimension, count, Element::f32},
          std::shared_ptr<const std::byte>(reinterpret_cast<const std::byte*>(values), [](const std::byte*) {})};
}

Vectors Vectors::view(const std::uint8_t* values, std::size_t dimension, std::size_t count) {
  return {{dimension, count, Element::u8},
          std::shared_ptr<const std::byte>(reinterpret_cast<const std::byte*>(values), [](const std::byte*) {})};
}

Vectors Vectors::slice(std::size_t first, std::size_t count) const {
  if (first > shape_.count || count > shape_.count - first) {
    misuse("{} vectors starting at number {} were requested, but there are only {}", count, first, shape_.count);
  }
  return {{shape_.dimension, count, shape_.element}, {data_, data_.get() + first * shape_.bytes_per_vector()}};
}

const float* Vectors::floats(std::size_t first, std::size_t count, float* scratch) const {
  const std::byte* from = data_.get() + first * shape_.bytes_per_vector();
  if (shape_.element == Element::f32) return reinterpret_cast<const float*>(from);
  to_float(shape_.element, from, count * shape_.dimension, scratch);
  return scratch;
}

void to_float(Element element, const std::byte* from, std::size_t n, float* to) {
  visit_element(element, [&](auto type) {
    using T = typename decltype(type)::type;
    for (std::size_t i = 0; i < n; ++i) {
      T value;
      std::memcpy(&value, from + i * sizeof(T), sizeof(T));
      to[i] = static_cast<float>(value);
    }
  });
}

std::shared_ptr<std::byte> allocate_vectors(const Shape& shape, const std::string& what) {
  constexpr std::align_val_t kAlign{64};
  std::uint64_t bytes = shape.count;
  try {
    if (!multiply_checked(bytes, shape.bytes_per_vector())) throw std::bad_alloc();
    return {static_cast<std::byte*>(::operator new(bytes, kAlign)), [](std::byte* p) { ::operator delete(p, kAlign); }};
  } catch (const std::bad_alloc&) {
    failure("{}: {} vectors of {} {} need more memory than is available", what, shape.count, shape.dimension,
            name_of(shape.element));
  }
}

std::string not_finite_text(const Vectors& x, std::size_t row, std::size_t column) {
  double value = 0;
  const Shape& shape = x.shape();
  visit_element(shape.element, [&](auto type) {
    using T = typename decltype(type)::type;
    T entry;
    std::memcpy(&entry, x.data() + row * shape.bytes_per_vector() + column * sizeof(T), sizeof(T));
    value = static_cast<double>(entry);
  });
  return fmt::format("{}{}", value, std::isfinite(value) ? ", which is beyond the range of a 32-bit float," : "");
}

Vectors gather(const Vectors& x, const std::vector<std::uint32_t>& rows) {
  const Shape shape{x.dimension(), rows.size(), x.shape().element};
  const std::size_t bytes = shape.bytes_per_vector();
  const auto data = allocate_vectors(shape, "a choice of vectors");
  for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(x.data() + rows[i] * bytes, bytes, data.get() + i * bytes);
  return {shape, data};
}

Vectors load_vectors(const VectorsFile& file) {
  const auto reader = open_vectors(file);
  const Shape& shape = reader->shape();
  const auto data = allocate_vectors(shape, file.path);
  // In pieces: readers that transpose a table then need memory for one piece only.
  const std::size_t piece = std::max<std::size_t>(1, (std::size_t{16} << 20) / shape.bytes_per_vector());
  for (std::size_t i = 0; i < shape.count; i += piece) {
    reader->read(std::min(piece, shape.count - i), data.get() + i * shape.bytes_per_vector());
  }
  return {shape, data};
}

std::int64_t label_of(std::string_view name) {
  return static_cast<std::int64_t>(checksum(std::as_bytes(std::span(name))) >> 1);
}

std::vector<std::int64_t> load_labels(const VectorsFile& file, LabelNames* names) {
  const Source source = open_source(file);
  const Format& format = format_of(source);
  check_columns(source, format);
  if (format.labels != nullptr) {
    auto labels = format.labels(source, names);
    if (!labels.empty()) return labels;
  }
  return load_integers(file.path);
}

namespace {

// One column or one row of integers, from reals too: MATLAB keeps integers as doubles.
template <class Integer>
std::vector<Integer> load_integers_as(const std::string& path, const char* what) {
  const auto reader = open_vectors(path);
  const Shape& shape = reader->shape();
  if (shape.dimension != 1 && shape.count != 1) {
    failure("{}: holds {} vectors of dimension {}; {}s must be one column or one row", path, shape.count,
            shape.dimension, what);
  }
  const std::size_t n = shape.dimension * shape.count;
  std::vector<std::byte> raw(n * size_of(shape.element));
  reader->read(shape.count, raw.data());
  std::vector<Integer> integers(n);
  visit_element(shape.element, [&](auto type) {
    using T = typename decltype(type)::type;
    for (std::size_t i = 0; i < n; ++i) {
      T value;
      std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
      if constexpr (std::is_integral_v<T>) {
        if (!std::in_range<Integer>(value)) {
          failure("{}: {} {} is {}; expected {} to {}", path, what, i, value, std::numeric_limits<Integer>::min(),
                  std::numeric_limits<Integer>::max());
        }
        integers[i] = static_cast<Integer>(value);
      } else {
        const auto real = static_cast<double>(value);
        constexpr double kExact = 9007199254740992.0;  // 2^53: above it, doubles skip integers
        if (!(real >= (std::is_signed_v<Integer> ? -kExact : 0) && real <= kExact) || real != std::floor(real)) {
          failure("{}: {} {} is {}; {}s are {}integers", path, what, i, real, what,
                  std::is_signed_v<Integer> ? "" : "non-negative ");
        }
        integers[i] = static_cast<Integer>(real);
      }
    }
  });
  return integers;
}

}  // namespace

std::vector<std::int64_t> load_integers(const std::string& path) {
  return load_integers_as<std::int64_t>(path, "label");
}

std::vector<std::uint64_t> load_ids(const std::string& path) { return load_integers_as<std::uint64_t>(path, "id"); }

}  // namespace bdnn
