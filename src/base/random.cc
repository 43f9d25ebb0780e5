#include "base/random.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace bdnn {

std::vector<std::uint32_t> random_rows(std::size_t of, std::size_t count, Random& random) {
  std::vector<std::uint32_t> rows(of);
  std::iota(rows.begin(), rows.end(), 0U);
  for (std::size_t i = 0; i < count; ++i) std::swap(rows[i], rows[i + random.below(of - i)]);
  rows.resize(count);
  return rows;
}

double portable_log(double x) {
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh(s) = 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1).
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffU) | 0x3ff0000000000000U);
  if (m > std::numbers::sqrt2) {
    m /= 2;
    ++exponent;
  }
  const double f = m - 1;  // exact
  const double s = f / (2 + f);
  const double z = s * s;
  double tail = 0;  // s^2/3 + s^4/5 + ...
  for (int k = 25; k >= 3; k -= 2) tail = z * (1.0 / k + tail);
  // ln m = f - s (f - 2 tail) keeps what a plain 2 s would round away.
  constexpr double kLn2High = 0x1.62e42fefa3800p-1;  // its last bits are 0, so that exponent * it is exact
  constexpr double kLn2Low = 0x1.ef35793c76730p-45;
  return exponent * kLn2High + (f - (s * (f - 2 * tail) - exponent * kLn2Low));
}

double portable_cos_turns(double turns) {
  // In eighths of a turn everything is exact: cos of the rest, or its sine, at most an eighth away.
  const int eighth = static_cast<int>(8 * turns);
  const double rest = (eighth % 2 == 0 ? 8 * turns - eighth : eighth + 1 - 8 * turns) / 8;
  const double x = 2 * std::numbers::pi * rest;
  const double z = x * x;
  double series = 0;
  double value = 0;
  const bool sine = (eighth + 1) / 2 % 2 == 1;  // eighths 1, 2, 5 and 6 are nearer to a quarter or three quarters
  if (sine) {
    for (int k = 16; k >= 2; k -= 2) series = -z / (k * (k + 1)) * (1 + series);
    value = x + x * series;
  } else {
    for (int k = 17; k >= 1; k -= 2) series = -z / (k * (k + 1)) * (1 + series);
    value = 1 + series;
  }
  return eighth >= 2 && eighth <= 5 ? -value : value;
}

double Random::normal() {
  const double radius = std::sqrt(-2.0 * portable_log(1.0 - uniform()));  // sqrt is exact everywhere
  return radius * portable_cos_turns(uniform());
}

}  // namespace bdnn
