// Random numbers that are the same everywhere: the standard fixes std::mt19937_64 but not its distributions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

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

  // Standard normal, by Box and Muller. The logarithm and the cosine are our own: those of C libraries differ in their
  // last bits from machine to machine.
  double normal();

 private:
  std::mt19937_64 engine_;
};

// `count` different numbers below `of`, in random order.
std::vector<std::uint32_t> random_rows(std::size_t of, std::size_t count, Random& random);

// ln(x) of a normal number x > 0, and cos(2 pi turns) for turns in [0, 1), by +, -, * and / alone, which IEEE 754 fixes
// to the last bit. Within 2 units in the last place.
double portable_log(double x);
double portable_cos_turns(double turns);

}  // namespace bdnn
