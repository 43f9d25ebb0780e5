// The matrix products of training and encoding on one thread: ours, chosen at run time, beside Eigen built for this
// machine and OpenBLAS as Debian installs it. GFLOP/s, and our speed over theirs.
//
//     build/bench/bench/product_bench
#include <cblas.h>
#include <fmt/format.h>

#include <random>

#include "base/blocks.h"
#include "bdnn/version.h"
#include "eigen_native.h"
#include "linalg/product.h"
#include "timing.h"

namespace {

using bdnn::PackedMatrix;
using bdnn::bench::best_times;

constexpr std::size_t kSamples = 60000;
constexpr std::size_t kDimension = 784;
constexpr int kRounds = 7;

template <class T>
std::vector<T> random_values(std::size_t n) {
  std::mt19937 engine(1);
  std::normal_distribution<T> normal;
  std::vector<T> values(n);
  for (auto& value : values) value = normal(engine);
  return values;
}

void print(const std::string& what, double flops, const std::vector<double>& times) {
  const auto speed = [&](std::size_t i) { return flops / times[i] / 1e9; };
  fmt::print("{:<34} {:>8.1f} {:>14.1f} {:>10.1f} {:>14.2f} {:>16.2f}\n", what, speed(0), speed(1), speed(2),
             times[1] / times[0], times[2] / times[0]);
}

template <class F>
void for_each_tile(const F& f) {
  const std::size_t tile = bdnn::samples_per_tile(kDimension);
  for (std::size_t i = 0; i < kSamples; i += tile) f(i, std::min(tile, kSamples - i));
}

void forward(const std::vector<float>& x, std::size_t rows) {
  const auto w = random_values<float>(rows * kDimension);
  std::vector<float> h(rows * kSamples);
  const auto packed = PackedMatrix<float>::from_columns(w.data(), rows, kDimension, rows);
  const int m = static_cast<int>(rows);
  const int k = static_cast<int>(kDimension);
  print(fmt::format("forward  {} x {} * {} x {}", rows, kDimension, kDimension, kSamples),
        2.0 * static_cast<double>(rows * kDimension * kSamples),
        best_times(kRounds, {[&] {
                               for_each_tile([&](std::size_t i, std::size_t n) {
                                 bdnn::multiply(packed, &x[i * kDimension], n, kDimension, &h[i * rows], rows);
                               });
                             },
                             [&] { bdnn::bench::eigen_multiply(w.data(), x.data(), h.data(), m, kSamples, k); },
                             [&] {
                               cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, kSamples, k, 1, w.data(), m,
                                           x.data(), k, 0, h.data(), m);
                             }}));
}

void forward_double(std::size_t rows) {
  constexpr std::size_t kFewer = kSamples / 4;
  const auto x = random_values<double>(kDimension * kFewer);
  const auto w = random_values<double>(rows * kDimension);
  std::vector<double> h(rows * kFewer);
  const auto packed = PackedMatrix<double>::from_columns(w.data(), rows, kDimension, rows);
  const int m = static_cast<int>(rows);
  const int k = static_cast<int>(kDimension);
  print(fmt::format("forward  {} x {} * {} x {} f64", rows, kDimension, kDimension, kFewer),
        2.0 * static_cast<double>(rows * kDimension * kFewer),
        best_times(kRounds, {[&] { bdnn::multiply(packed, x.data(), kFewer, kDimension, h.data(), rows); },
                             [&] { bdnn::bench::eigen_multiply(w.data(), x.data(), h.data(), m, kFewer, k); },
                             [&] {
                               cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, kFewer, k, 1, w.data(), m,
                                           x.data(), k, 0, h.data(), m);
                             }}));
}

void gradient(const std::vector<float>& x, std::size_t rows) {
  const auto delta = random_values<float>(rows * kSamples);
  std::vector<float> g(rows * kDimension);
  const int m = static_cast<int>(rows);
  const int n = static_cast<int>(kDimension);
  print(
      fmt::format("gradient {} x {} * {} x {}", rows, kSamples, kSamples, kDimension),
      2.0 * static_cast<double>(rows * kDimension * kSamples),
      best_times(kRounds, {[&] {
                             for_each_tile([&](std::size_t i, std::size_t samples) {
                               bdnn::add_product_transposed(&delta[i * rows], rows, rows, &x[i * kDimension],
                                                            kDimension, kDimension, samples, g.data(), rows);
                             });
                           },
                           [&] { bdnn::bench::eigen_add_transposed(delta.data(), x.data(), g.data(), m, n, kSamples); },
                           [&] {
                             cblas_sgemm(CblasColMajor, CblasNoTrans, CblasTrans, m, n, kSamples, 1, delta.data(), m,
                                         x.data(), n, 1, g.data(), m);
                           }}));
}

void covariance(const std::vector<float>& x) {
  std::vector<float> c(kDimension * kDimension);
  const int n = static_cast<int>(kDimension);
  print(fmt::format("covariance {} x {}, lower half", kDimension, kDimension),
        static_cast<double>(kDimension * kDimension * kSamples),
        best_times(kRounds,
                   {[&] {
                      for_each_tile([&](std::size_t i, std::size_t samples) {
                        bdnn::add_gram_lower(&x[i * kDimension], kDimension, kDimension, samples, c.data(), kDimension);
                      });
                    },
                    [&] { bdnn::bench::eigen_add_gram(x.data(), c.data(), n, kSamples); },
                    [&] {
                      cblas_ssyrk(CblasColMajor, CblasLower, CblasNoTrans, n, kSamples, 1, x.data(), n, 1, c.data(), n);
                    }}));
}

}  // namespace

int main() {
  openblas_set_num_threads(1);
  const auto backend = bdnn::backend();
  fmt::print("{}; OpenBLAS: {}\n\n", bdnn::bench::machine(), backend.lapack);
  fmt::print("{:<34} {:>8} {:>14} {:>10} {:>14} {:>16}\n", "GFLOP/s on one thread", "ours", "Eigen native", "OpenBLAS",
             "ours / Eigen", "ours / OpenBLAS");
  const auto x = random_values<float>(kDimension * kSamples);
  for (const std::size_t rows : {8, 32, 90, 120}) forward(x, rows);
  for (const std::size_t rows : {32, 90, 120}) gradient(x, rows);
  covariance(x);
  forward_double(90);
}
