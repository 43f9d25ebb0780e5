#include "learn/lbfgs.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <stdexcept>

namespace bdnn {
namespace {

// Rosenbrock's valley, in many dimensions: its only minimum is at (1, ..., 1).
double valley(const double* x, double* gradient, std::size_t n) {
  double sum = 0;
  std::fill_n(gradient, n, 0.0);
  for (std::size_t i = 0; i + 1 < n; i += 2) {
    const double a = 1 - x[i];
    const double b = x[i + 1] - x[i] * x[i];
    sum += a * a + 100 * b * b;
    gradient[i] = -2 * a - 400 * x[i] * b;
    gradient[i + 1] = 200 * b;
  }
  return sum;
}

TEST(Lbfgs, FindsTheEndOfTheValley) {
  std::vector<double> x(20, -1.2);
  const auto result =
      minimise_lbfgs(x, [&](const double* at, double* g) { return valley(at, g, x.size()); }, {1000, 20, 1e-9, 0});
  for (const double value : x) EXPECT_NEAR(value, 1, 1e-6);
  EXPECT_NEAR(result.value, 0, 1e-12);
  EXPECT_GE(result.evaluations, result.iterations);
}

TEST(Lbfgs, NeverEndsHigherThanItStartedAndKeepsItsLimit) {
  std::vector<double> x(20, -1.2);
  std::vector<double> gradient(20);
  const double first = valley(x.data(), gradient.data(), 20);
  int told = 0;
  const auto result = minimise_lbfgs(
      x, [&](const double* at, double* g) { return valley(at, g, x.size()); }, {3, 20, 1e-9, 0},
      [&](int iteration) { told = iteration; });
  EXPECT_LT(result.value, first);
  EXPECT_EQ(result.iterations, 3);
  EXPECT_EQ(told, 3);
  EXPECT_EQ(result.stopped, "the limit of iterations is reached");
}

TEST(Lbfgs, WithoutIterationsNothingMoves) {
  std::vector<double> x(4, -1.2);
  minimise_lbfgs(x, [&](const double* at, double* g) { return valley(at, g, 4); }, {0, 20, 1e-9, 0});
  EXPECT_EQ(x, std::vector<double>(4, -1.2));
}

// Bytes that malloc has given away; zero under AddressSanitizer, which reports leaks by itself.
std::size_t allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(Lbfgs, AnExceptionFromTheFunctionStopsItAndLeaksNothing) {
  for (const int last : {1, 2, 30}) {  // the start, the first line search, and amid the iterations
    std::vector<double> x(10'000, -1.2);
    const std::vector<double> start = x;
    int evaluations = 0;
    const std::size_t before = allocated();
    EXPECT_THROW(minimise_lbfgs(
                     x,
                     [&](const double* at, double* g) {
                       if (++evaluations == last) throw std::runtime_error("no");
                       return valley(at, g, x.size());
                     },
                     {1000, 20, 1e-9, 0}, [&](int) { EXPECT_LT(evaluations, last); }),
                 std::runtime_error);
    EXPECT_EQ(evaluations, last);
    EXPECT_EQ(x, start);
    EXPECT_LT(allocated(), before + 100'000) << "the history takes 3 MB";
  }
}

TEST(Lbfgs, AnExceptionAfterAnIterationStopsItAndLeaksNothing) {
  std::vector<double> x(10'000, -1.2);
  const std::vector<double> start = x;
  int last = 0;
  const std::size_t before = allocated();
  EXPECT_THROW(minimise_lbfgs(
                   x, [&](const double* at, double* g) { return valley(at, g, x.size()); }, {1000, 20, 1e-9, 0},
                   [&](int iteration) {
                     last = iteration;
                     if (iteration == 3) throw std::runtime_error("cancelled");
                   }),
               std::runtime_error);
  EXPECT_EQ(last, 3);
  EXPECT_EQ(x, start);
  EXPECT_LT(allocated(), before + 100'000) << "the history takes 3 MB";
}

}  // namespace
}  // namespace bdnn
