#include "bdnn/vectors.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>

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

Vectors::Vectors(Shape shape, std::shared_ptr<const std::byte> data) : shape_(shape), data_(std::move(data)) {}

Vectors::Vectors(std::size_t dimension, std::size_t count, std::vector<float> values)
    : shape_{dimension, count, Element::f32} {
  if (values.size() != dimension * count) {
    misuse("{} values were given for {} vectors of dimension {}; give {}", values.size(), count, dimension,
           dimension * count);
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
    failure("{}: {} vectors of {} {} need more memory than there is", what, shape.count, shape.dimension,
            name_of(shape.element));
  }
}

Vectors gather(const Vectors& x, const std::vector<std::uint32_t>& rows) {
  const Shape shape{x.dimension(), rows.size(), x.shape().element};
  const std::size_t bytes = shape.bytes_per_vector();
  const auto data = allocate_vectors(shape, "a choice of vectors");
  for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(x.data() + rows[i] * bytes, bytes, data.get() + i * bytes);
  return {shape, data};
}

Vectors load_vectors(const std::string& path) {
  const auto reader = open_vectors(path);
  const Shape& shape = reader->shape();
  const auto data = allocate_vectors(shape, path);
  // In pieces: readers that have to turn a table around need memory for a piece only.
  const std::size_t piece = std::max<std::size_t>(1, (std::size_t{16} << 20) / shape.bytes_per_vector());
  for (std::size_t i = 0; i < shape.count; i += piece) {
    reader->read(std::min(piece, shape.count - i), data.get() + i * shape.bytes_per_vector());
  }
  return {shape, data};
}

std::int64_t label_of(std::string_view name) {
  return static_cast<std::int64_t>(checksum(std::as_bytes(std::span(name))) >> 1);
}

std::vector<std::int64_t> load_labels(const std::string& path, LabelNames* names) {
  const Source source = open_source(path);
  const Format& format = format_of(source);
  if (format.labels != nullptr) {
    auto labels = format.labels(source, names);
    if (!labels.empty()) return labels;
  }
  return load_integers(path);
}

std::vector<std::int64_t> load_integers(const std::string& path) {
  const auto reader = open_vectors(path);
  const Shape& shape = reader->shape();
  if (shape.dimension != 1 && shape.count != 1) {
    failure("{}: holds {} vectors of dimension {}; labels are one column or one row", path, shape.count,
            shape.dimension);
  }
  const std::size_t n = shape.dimension * shape.count;
  std::vector<std::byte> raw(n * size_of(shape.element));
  reader->read(shape.count, raw.data());
  std::vector<std::int64_t> labels(n);
  visit_element(shape.element, [&](auto type) {
    using T = typename decltype(type)::type;
    for (std::size_t i = 0; i < n; ++i) {
      T value;
      std::memcpy(&value, raw.data() + i * sizeof(T), sizeof(T));
      if constexpr (std::is_integral_v<T>) {
        if (std::is_unsigned_v<T> && static_cast<std::uint64_t>(value) > INT64_MAX) {
          failure("{}: label {} is {}, which is too large; labels are 64-bit integers", path, i, value);
        }
        labels[i] = static_cast<std::int64_t>(value);
      } else {
        // MATLAB keeps integers as doubles.
        const auto real = static_cast<double>(value);
        if (!(real >= -9007199254740992.0 && real <= 9007199254740992.0) ||
            static_cast<double>(static_cast<std::int64_t>(real)) != real) {
          failure("{}: label {} is {}; labels are integers", path, i, real);
        }
        labels[i] = static_cast<std::int64_t>(real);
      }
    }
  });
  return labels;
}

}  // namespace bdnn
