#include "data/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "data/element.h"

namespace bdnn {
namespace {

constexpr Element kElements[] = {Element::f16, Element::f32, Element::f64, Element::u8,  Element::i8, Element::u16,
                                 Element::i16, Element::u32, Element::i32, Element::u64, Element::i64};

template <class T>
constexpr bool is_real = std::is_floating_point_v<T> || std::is_same_v<T, Half>;

// Digits of precision, in bits.
template <class T>
constexpr int digits() {
  if constexpr (std::is_same_v<T, Half>) return 11;
  return std::numeric_limits<T>::digits;
}

template <class To, class From>
constexpr bool holds_all_values() {
  if constexpr (is_real<From>) {
    return is_real<To> && digits<To>() >= digits<From>();
  } else if constexpr (is_real<To>) {
    return digits<To>() >= digits<From>();
  } else {
    return (std::is_signed_v<To> || std::is_unsigned_v<From>)&&digits<To>() >= digits<From>();
  }
}

// False if the type cannot hold the value.
template <class To, class From>
bool convert(From from, To& to) {
  if constexpr (std::is_same_v<To, From>) {
    to = from;
    return true;
  } else if constexpr (std::is_same_v<From, Half>) {
    return convert<To, float>(static_cast<float>(from), to);
  } else if constexpr (std::is_same_v<To, Half>) {
    float value = 0;
    if (!convert<float, From>(from, value)) return false;
    to = Half::from(value);
    const auto back = static_cast<float>(to);
    return std::is_floating_point_v<From> ? !std::isfinite(value) || std::isfinite(back) : back == value;
  } else if constexpr (std::is_floating_point_v<To>) {
    to = static_cast<To>(from);
    if constexpr (std::is_floating_point_v<From>) {  // reals are rounded
      return !std::isfinite(from) || std::isfinite(to);
    } else {  // integers must survive; a value rounded up to the integer's limit would overflow on the way back
      return to < std::ldexp(To{1}, digits<From>()) && static_cast<From>(to) == from;
    }
  } else if constexpr (std::is_floating_point_v<From>) {
    // The upper bound is max + 1, a power of two, hence exact; NaN fails both comparisons.
    const From limit = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    if (!(from >= static_cast<From>(std::numeric_limits<To>::min()) && from < limit)) return false;
    to = static_cast<To>(from);
    return static_cast<From>(to) == from;
  } else {
    to = static_cast<To>(from);
    return static_cast<From>(to) == from && (to < To{0}) == (from < From{0});
  }
}

}  // namespace

void convert_elements(Element from, const std::byte* in, std::size_t n, Element to, std::byte* out, std::size_t row,
                      std::size_t dimension) {
  if (from == to) {
    std::memcpy(out, in, n * size_of(from));
    return;
  }
  visit_element(from, [&](auto from_type) {
    visit_element(to, [&](auto to_type) {
      using From = typename decltype(from_type)::type;
      using To = typename decltype(to_type)::type;
      for (std::size_t i = 0; i < n; ++i) {
        From value;
        To converted;
        std::memcpy(&value, in + i * sizeof(From), sizeof(From));
        if (!convert(value, converted)) {
          std::string text;
          if constexpr (std::is_same_v<From, Half>) {
            text = fmt::format("{}", static_cast<float>(value));
          } else {
            text = fmt::format("{}", value);
          }
          failure("{} in row {}, column {} cannot be kept as {}; choose another element type or format", text,
                  row + i / dimension, i % dimension, name_of(to));
        }
        std::memcpy(out + i * sizeof(To), &converted, sizeof(To));
      }
    });
  });
}

bool holds_all(Element to, Element from) {
  return visit_element(to, [&](auto to_type) {
    return visit_element(from, [&](auto from_type) {
      return holds_all_values<typename decltype(to_type)::type, typename decltype(from_type)::type>();
    });
  });
}

Element element_for(const Format& format, Element from) {
  for (const Element element : format.stores) {
    if (element == from) return element;
  }
  for (const Element element : format.stores) {
    if (holds_all(element, from)) return element;
  }
  return format.stores.front();
}

std::optional<Element> element_named(std::string_view name) {
  for (const Element element : kElements) {
    if (name_of(element) == name) return element;
  }
  return std::nullopt;
}

Shape convert_file(const VectorsFile& from, const std::string& to, const ConvertOptions& options) {
  const Format& format = format_for_writing(to);
  const auto reader = open_vectors(from);
  const Shape in = reader->shape();
  Shape out = in;
  out.element = options.element ? *options.element : element_for(format, in.element);
  if (std::find(format.stores.begin(), format.stores.end(), out.element) == format.stores.end()) {
    std::string names;
    for (const Element element : format.stores) names += (names.empty() ? "" : ", ") + std::string(name_of(element));
    misuse("{}: {} cannot be kept in this format, only {}", to, name_of(out.element), names);
  }
  if (!options.labels.empty() && format.labels == nullptr) {
    misuse("{}: {} files hold vectors without labels; write the labels to a separate file", to, format.name);
  }
  const auto writer = format.create({to, out, "", options.labels});
  const std::size_t block = std::max<std::size_t>(1, (std::size_t{4} << 20) / in.bytes_per_vector());
  std::vector<std::byte> raw(std::min(block, in.count) * in.bytes_per_vector());
  std::vector<std::byte> converted(std::min(block, in.count) * out.bytes_per_vector());
  for (std::size_t i = 0; i < in.count; i += block) {
    const std::size_t n = std::min(block, in.count - i);
    reader->read(n, raw.data());
    with_name(from.path, [&] {
      convert_elements(in.element, raw.data(), n * in.dimension, out.element, converted.data(), i, in.dimension);
    });
    writer->write(n, converted.data());
  }
  writer->finish();
  return out;
}

void save_vectors(const Vectors& vectors, const std::string& path) {
  const Format& format = format_for_writing(path);
  const Shape& in = vectors.shape();
  const Shape out{in.dimension, in.count, element_for(format, in.element)};
  const auto writer = format.create({path, out, "", {}});
  const std::size_t block =
      std::max<std::size_t>(1, (std::size_t{4} << 20) / std::max<std::size_t>(1, in.bytes_per_vector()));
  std::vector<std::byte> converted(in.element == out.element ? 0 : std::min(block, in.count) * out.bytes_per_vector());
  for (std::size_t i = 0; i < in.count; i += block) {
    const std::size_t n = std::min(block, in.count - i);
    const std::byte* from = vectors.data() + i * in.bytes_per_vector();
    if (in.element != out.element) {
      convert_elements(in.element, from, n * in.dimension, out.element, converted.data(), i, in.dimension);
      from = converted.data();
    }
    writer->write(n, from);
  }
  writer->finish();
}

Shape save_labels(const std::vector<std::int64_t>& labels, const std::string& path) {
  if (labels.empty()) misuse("{}: there are no labels to write", path);
  const Format& format = format_for_writing(path);
  const std::int64_t least = *std::min_element(labels.begin(), labels.end());
  const std::int64_t most = *std::max_element(labels.begin(), labels.end());
  const auto fits = [&](auto type) {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T>) {
      return std::in_range<T>(least) && std::in_range<T>(most);
    } else {
      return false;
    }
  };
  std::optional<Element> smallest;
  for (const Element element : format.stores) {
    if (visit_element(element, fits) && (!smallest || size_of(element) < size_of(*smallest))) smallest = element;
  }
  if (!smallest) misuse("{}: the labels {} to {} do not fit in this format; write .npy", path, least, most);
  const Shape shape{1, labels.size(), *smallest};
  std::vector<std::byte> bytes(labels.size() * size_of(*smallest));
  convert_elements(Element::i64, reinterpret_cast<const std::byte*>(labels.data()), labels.size(), *smallest,
                   bytes.data(), 0, 1);
  const auto writer = format.create({path, shape, "", {}});
  writer->write(labels.size(), bytes.data());
  writer->finish();
  return shape;
}

}  // namespace bdnn
