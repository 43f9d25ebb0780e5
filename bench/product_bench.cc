// The matrix products of training and encoding on one thread: ours, with each SIMD target that is named or that the
// machine has, beside the limit of its instructions and of the memory; with the first target also beside Eigen built
// for this machine and OpenBLAS as Debian installs it. GFLOP/s, and our speed over theirs.
//
//     build/bench/bench/product_bench [--target AVX2]...
#include <cblas.h>
#include <fmt/format.h>

#include <random>

#include "bare_loops.h"
#include "base/blocks.h"
#include "bdnn/version.h"
#include "eigen_native.h"
#include "linalg/product.h"
#include "targets.h"
#include "timing.h"

namespace {

using bdnn::PackedMatrix;

constexpr std::size_t kSamples = 10000;  // more than the caches hold
constexpr std::size_t kDimension = 784;
constexpr int kRounds = 20;
bool with_rivals = false;

template <class T>
std::vector<T> random_values(std::size_t n) {
  std::mt19937 engine(1);
  std::normal_distribution<T> normal;
  std::vector<T> values(n);
  for (auto& value : values) value = normal(engine);
  return values;
}

// Our time, Eigen's and OpenBLAS's for so many operations on values of T, the larger factor of which is read once.
template <class T>
void compare(const std::string& what, double flops, const std::vector<T>& read, bdnn::bench::Rivals rivals,
             int rounds = kRounds) {
  const std::string target = bdnn::simd_target();
  double peak_flops = 0;
  if (!with_rivals) rivals.resize(1);
  rivals.emplace_back([&] { peak_flops = bdnn::bench::bare_multiply_adds(target); });
  rivals.emplace_back(
      [&] { bdnn::bench::bare_read(reinterpret_cast<const std::uint8_t*>(read.data()), read.size() * sizeof(T)); });
  // CPU time: all have one thread, and other programs lengthen it little.
  const auto times = bdnn::bench::best_times(with_rivals ? rounds : rounds / 4, rivals, bdnn::bench::cpu_now);
  const double slower = target == "SCALAR" ? 1 : sizeof(T) / sizeof(float);  // a vector has fewer doubles
  const double limit = std::max(flops / peak_flops * times[times.size() - 2] * slower, times.back());
  fmt::print("{:<40} {:>8.1f} {:>8.1f} {:>7.2f}", what, flops / limit / 1e9, flops / times[0] / 1e9, limit / times[0]);
  for (std::size_t i = 1; i + 2 < times.size(); ++i) {
    fmt::print(" {:>12.1f} ({:.2f})", flops / times[i] / 1e9, times[i] / times[0]);
  }
  fmt::print("\n");
  std::fflush(stdout);
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
  compare(fmt::format("forward  {} x {} * {} x {}", rows, kDimension, kDimension, kSamples),
          2.0 * static_cast<double>(rows * kDimension * kSamples), x,
          {[&] {
             for_each_tile([&](std::size_t i, std::size_t n) {
               bdnn::multiply(packed, &x[i * kDimension], n, kDimension, &h[i * rows], rows);
             });
           },
           [&] { bdnn::bench::eigen_multiply(w.data(), x.data(), h.data(), m, kSamples, k); },
           [&] {
             cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, kSamples, k, 1, w.data(), m, x.data(), k, 0,
                         h.data(), m);
           }});
}

void forward_double(std::size_t rows) {
  const auto x = random_values<double>(kDimension * kSamples);
  const auto w = random_values<double>(rows * kDimension);
  std::vector<double> h(rows * kSamples);
  const auto packed = PackedMatrix<double>::from_columns(w.data(), rows, kDimension, rows);
  const int m = static_cast<int>(rows);
  const int k = static_cast<int>(kDimension);
  compare(fmt::format("forward  {} x {} * {} x {} f64", rows, kDimension, kDimension, kSamples),
          2.0 * static_cast<double>(rows * kDimension * kSamples), x,
          {[&] { bdnn::multiply(packed, x.data(), kSamples, kDimension, h.data(), rows); },
           [&] { bdnn::bench::eigen_multiply(w.data(), x.data(), h.data(), m, kSamples, k); },
           [&] {
             cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, kSamples, k, 1, w.data(), m, x.data(), k, 0,
                         h.data(), m);
           }});
}

void gradient(const std::vector<float>& x, std::size_t rows) {
  const auto delta = random_values<float>(rows * kSamples);
  std::vector<float> g(rows * kDimension);
  const int m = static_cast<int>(rows);
  const int n = static_cast<int>(kDimension);
  compare(fmt::format("gradient {} x {} * {} x {}", rows, kSamples, kSamples, kDimension),
          2.0 * static_cast<double>(rows * kDimension * kSamples), x,
          {[&] {
             for_each_tile([&](std::size_t i, std::size_t samples) {
               bdnn::add_product_transposed(&delta[i * rows], rows, rows, &x[i * kDimension], kDimension, kDimension,
                                            samples, g.data(), rows);
             });
           },
           [&] { bdnn::bench::eigen_add_transposed(delta.data(), x.data(), g.data(), m, n, kSamples); },
           [&] {
             cblas_sgemm(CblasColMajor, CblasNoTrans, CblasTrans, m, n, kSamples, 1, delta.data(), m, x.data(), n, 1,
                         g.data(), m);
           }});
}

// The same of one tile twice in a row, as training takes it: the way forward has just read the samples.
void gradient_of_tile(const std::vector<float>& x, std::size_t rows) {
  constexpr int kTimes = 2;  // often, and shortly: whatever else runs takes turns of milliseconds
  constexpr int kOften = 300;
  const std::size_t samples = bdnn::samples_per_tile(kDimension);
  const auto delta = random_values<float>(rows * samples);
  std::vector<float> g(rows * kDimension);
  const int m = static_cast<int>(rows);
  const int n = static_cast<int>(kDimension);
  const int k = static_cast<int>(samples);
  const auto often = [](const auto& product) {
    return [product] {
      for (int i = 0; i < kTimes; ++i) product();
    };
  };
  compare(fmt::format("gradient {} x {} * {} x {} in caches", rows, samples, samples, kDimension),
          2.0 * kTimes * static_cast<double>(rows * kDimension * samples), std::vector<float>(),
          {often([&, samples] {
             bdnn::add_product_transposed(delta.data(), rows, rows, x.data(), kDimension, kDimension, samples, g.data(),
                                          rows);
           }),
           often([&, m, n, k] { bdnn::bench::eigen_add_transposed(delta.data(), x.data(), g.data(), m, n, k); }),
           often([&, m, n, k] {
             cblas_sgemm(CblasColMajor, CblasNoTrans, CblasTrans, m, n, k, 1, delta.data(), m, x.data(), n, 1, g.data(),
                         m);
           })},
          kOften);
}

void covariance(const std::vector<float>& x) {
  std::vector<float> c(kDimension * kDimension);
  const int n = static_cast<int>(kDimension);
  compare(fmt::format("covariance {} x {}, lower half", kDimension, kDimension),
          static_cast<double>(kDimension * kDimension * kSamples), x,
          {[&] {
             for_each_tile([&](std::size_t i, std::size_t samples) {
               bdnn::add_gram_lower(&x[i * kDimension], kDimension, kDimension, samples, c.data(), kDimension);
             });
           },
           [&] { bdnn::bench::eigen_add_gram(x.data(), c.data(), n, kSamples); },
           [&] { cblas_ssyrk(CblasColMajor, CblasLower, CblasNoTrans, n, kSamples, 1, x.data(), n, 1, c.data(), n); }});
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = bdnn::bench::arguments_of(argc, argv, bdnn::simd_targets());
  openblas_set_num_threads(1);
  fmt::print("{}; OpenBLAS: {}\n", bdnn::bench::machine(), bdnn::backend().lapack);
  fmt::print(
      "GFLOP/s on one thread; limit: multiply-adds in registers, or reading the samples, whichever takes longer\n");
  fmt::print("in brackets: our speed over the rival's\n");
  const auto x = random_values<float>(kDimension * kSamples);
  for (const std::string& target : arguments.targets) {
    bdnn::force_simd_target(target);
    with_rivals = target == arguments.targets.front();
    fmt::print("\n{:<40} {:>8} {:>8} {:>7}{}\n", target, "limit", "ours", "of it",
               with_rivals ? fmt::format(" {:>12}        {:>12}", "Eigen native", "OpenBLAS") : "");
    for (const std::size_t rows : {8, 32, 64, 90, 120}) forward(x, rows);
    for (const std::size_t rows : {32, 64, 90, 120}) gradient(x, rows);
    for (const std::size_t rows : {32, 64, 90, 120}) gradient_of_tile(x, rows);
    covariance(x);
    forward_double(90);
  }
}
