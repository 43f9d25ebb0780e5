// Random numbers that are the same everywhere: the standard fixes std::mt19937_64 but not its distributions.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace bdnn {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }

  // In [0, 1), with 53 random bits.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

  // In [0, n), without bias: draws that would favour small values are rejected.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t excess = (0 - n) % n;
    std::uint64_t draw = engine_();
    while (draw < excess) draw = engine_();
    return draw % n;
  }

  // Standard normal, by Box and Muller.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace bdnn
