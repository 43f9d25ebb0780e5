// Maps an Element, known at run time, to the C++ type it names.
#pragma once

#include <bit>
#include <cstdint>

#include "base/error.h"
#include "bdnn/vectors.h"

namespace bdnn {

// An IEEE half, for conversion only.
struct Half {
  std::uint16_t bits;

  explicit operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t exponent = bits >> 10 & 0x1fU;
    const std::uint32_t fraction = bits & 0x3ffU;
    if (exponent == 0) {  // zero and subnormal: fraction * 2^-24
      const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
      return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t widened = exponent == 31 ? 255U : exponent + 112U;
    return std::bit_cast<float>(sign | widened << 23 | fraction << 13);
  }
  // The nearest half, ties to even; beyond its range, infinity.
  static Half from(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(word >> 16 & 0x8000U);
    const std::uint32_t magnitude = word & 0x7fffffffU;
    if (magnitude >= 0x7f800000U) {  // infinite or NaN
      return {static_cast<std::uint16_t>(sign | 0x7c00U | (magnitude > 0x7f800000U ? 0x200U : 0U))};
    }
    if (magnitude >= 0x477ff000U) return {static_cast<std::uint16_t>(sign | 0x7c00U)};  // rounds to 65536 or more
    if (magnitude < 0x38800000U) {  // subnormal: a multiple of 2^-24, and float addition does the rounding
      const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
      return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) & 0x7ffU))};
    }
    const std::uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1U) - 0x38000000U;
    return {static_cast<std::uint16_t>(sign | rounded >> 13)};
  }

  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

template <class T>
struct Type {
  using type = T;
};

// Calls f(Type<T>{}) with the T that `element` names.
template <class F>
decltype(auto) visit_element(Element element, F&& f) {
  switch (element) {
    case Element::f16: return f(Type<Half>{});
    case Element::f32: return f(Type<float>{});
    case Element::f64: return f(Type<double>{});
    case Element::u8: return f(Type<std::uint8_t>{});
    case Element::i8: return f(Type<std::int8_t>{});
    case Element::u16: return f(Type<std::uint16_t>{});
    case Element::i16: return f(Type<std::int16_t>{});
    case Element::u32: return f(Type<std::uint32_t>{});
    case Element::i32: return f(Type<std::int32_t>{});
    case Element::u64: return f(Type<std::uint64_t>{});
    case Element::i64: return f(Type<std::int64_t>{});
  }
  failure("unknown element type number {}", static_cast<int>(element));
}

}  // namespace bdnn
