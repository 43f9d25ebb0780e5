#include "bdnn/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/blocks.h"
#include "base/error.h"
#include "base/random.h"
#include "codes/hamming.h"
#include "learn/affine.h"
#include "linalg/product.h"
#include "model/hash_function.h"

namespace bdnn {
namespace {

// Sums of b and b b^T over all codes, with bits as +1 and -1: small integers, hence exact.
struct BitMoments {
  VectorXd sum;
  MatrixXd products;  // lower triangle
};

struct PartialMoments {
  VectorXf sum;
  MatrixXf products;
};

struct TotalMoments {
  BitMoments value;
  TotalMoments& operator=(const PartialMoments& partial) {
    value = {partial.sum.cast<double>(), partial.products.cast<double>()};
    return *this;
  }
  TotalMoments& operator+=(const TotalMoments& other) {
    value.sum += other.value.sum;
    value.products += other.value.products;
    return *this;
  }
};

BitMoments bit_moments(const Codes& codes, Threads& threads) {
  const auto bits = static_cast<Eigen::Index>(codes.bits());
  TotalMoments total{{VectorXd::Zero(bits), MatrixXd::Zero(bits, bits)}};
  const PartialMoments zero{VectorXf::Zero(bits), MatrixXf::Zero(bits, bits)};
  const std::size_t tile = samples_per_tile(codes.bits());
  sum_over_samples(threads, codes.size(), zero, total, [&](const Range& block, PartialMoments& partial) {
    MatrixXf signs(bits, static_cast<Eigen::Index>(tile));
    for_each_tile(block, tile, [&](std::size_t first, std::size_t n) {
      unpack_signs(codes[first].data(), codes.bits(), n, signs.data());
      partial.sum += signs.leftCols(static_cast<Eigen::Index>(n)).rowwise().sum();
      add_gram_lower(signs.data(), codes.bits(), codes.bits(), n, partial.products.data(), codes.bits());
    });
  });
  return std::move(total.value);
}

double binary_entropy(double p) { return p <= 0 || p >= 1 ? 0 : -p * std::log2(p) - (1 - p) * std::log2(1 - p); }

void measure_balance_and_correlation(const BitMoments& moments, CodesDiagnostics& out) {
  const auto m = static_cast<double>(out.count);
  const std::size_t bits = out.bits;
  out.correlation.assign(bits * bits, 0);
  double sum = 0;
  for (std::size_t i = 0; i < bits; ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const double mean = moments.sum[row] / m;
    out.balance.push_back((1 + mean) / 2);
    out.largest_imbalance = std::max(out.largest_imbalance, std::abs(mean) / 2);
    out.bit_entropy += binary_entropy((1 + mean) / 2);
    out.correlation[i * bits + i] = 1;
    for (std::size_t j = 0; j < i; ++j) {
      const auto column = static_cast<Eigen::Index>(j);
      const double other = moments.sum[column] / m;
      const double spread = std::sqrt((1 - mean * mean) * (1 - other * other));
      const double correlation = spread > 0 ? std::abs(moments.products(row, column) / m - mean * other) / spread : 0;
      out.correlation[i * bits + j] = out.correlation[j * bits + i] = correlation;
      sum += correlation;
      if (correlation > out.largest_correlation) {
        out.largest_correlation = correlation;
        out.largest_pair[0] = j;
        out.largest_pair[1] = i;
      }
    }
  }
  if (bits > 1) out.mean_correlation = sum / (static_cast<double>(bits * (bits - 1)) / 2);
}

void count_distinct(const Codes& codes, CodesDiagnostics& out) {
  std::vector<std::size_t> order(codes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t bytes = codes.bytes_per_code();
  const auto compare = [&](std::size_t a, std::size_t b) {
    return std::memcmp(codes.data() + a * bytes, codes.data() + b * bytes, bytes);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return compare(a, b) < 0; });
  const auto m = static_cast<double>(codes.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first + 1;
    while (last < order.size() && compare(order[first], order[last]) == 0) ++last;
    const double share = static_cast<double>(last - first) / m;
    out.entropy -= share * std::log2(share);
    ++out.distinct;
    first = last;
  }
  out.duplicates = codes.size() - out.distinct;
}

void measure_distances(const Codes& codes, Threads& threads, CodesDiagnostics& out) {
  constexpr std::size_t kSample = 1000;
  Random random(1);
  std::vector<std::size_t> sample(std::min(kSample, codes.size()));
  for (std::size_t i = 0; i < sample.size(); ++i) {
    sample[i] = codes.size() <= kSample ? i : random.below(codes.size());
  }
  std::vector<std::vector<std::uint64_t>> counts(sample.size(), std::vector<std::uint64_t>(codes.bits() + 1));
  threads.for_each(sample.size(), [&](std::size_t q, int) {
    std::vector<std::uint16_t> distances(codes.size());
    hamming_distances(codes[sample[q]].data(), codes.data(), codes.bytes_per_code(), codes.size(), distances.data());
    for (const std::uint16_t distance : distances) ++counts[q][distance];
    --counts[q][0];  // itself
  });
  std::vector<std::uint64_t> total(codes.bits() + 1);
  for (const auto& row : counts) {
    for (std::size_t d = 0; d < row.size(); ++d) total[d] += row[d];
  }
  const auto pairs = static_cast<double>(sample.size() * (codes.size() - 1));
  out.distances.assign(codes.bits() + 1, 0);
  if (pairs == 0) return;
  double square = 0;
  for (std::size_t d = 0; d < total.size(); ++d) {
    out.distances[d] = static_cast<double>(total[d]) / pairs;
    out.mean_distance += static_cast<double>(d) * out.distances[d];
    square += static_cast<double>(d) * static_cast<double>(d) * out.distances[d];
  }
  out.distance_deviation = std::sqrt(std::max(0.0, square - out.mean_distance * out.mean_distance));
}

}  // namespace

CodesDiagnostics diagnose_codes(const Codes& codes, int thread_count) {
  if (codes.size() == 0) misuse("there are no codes to analyse");
  Threads threads(thread_count);
  CodesDiagnostics out;
  out.bits = codes.bits();
  out.count = codes.size();
  measure_balance_and_correlation(bit_moments(codes, threads), out);
  count_distinct(codes, out);
  measure_distances(codes, threads, out);
  return out;
}

namespace {

std::size_t bits_beyond(const CodesDiagnostics& diagnostics, double share) {
  const auto beyond = [&](double balance) { return std::abs(balance - 0.5) >= 0.5 - share; };
  return static_cast<std::size_t>(std::count_if(diagnostics.balance.begin(), diagnostics.balance.end(), beyond));
}

}  // namespace

std::string summary_of(const CodesDiagnostics& diagnostics) {
  const std::size_t constant = bits_beyond(diagnostics, 0);
  return fmt::format("{} codes: {} distinct, {} constant bits", diagnostics.count, diagnostics.distinct,
                     constant == 0 ? "no" : std::to_string(constant));
}

std::vector<std::string> warnings_of(const CodesDiagnostics& diagnostics, bool of_classes) {
  constexpr std::size_t kFew = 20;  // with fewer codes, statistics of bits mean little
  constexpr double kRare = 0.01;
  constexpr double kLittle = 0.2;
  std::vector<std::string> warnings;
  if (diagnostics.count < kFew) return warnings;
  const std::size_t idle = bits_beyond(diagnostics, kRare);
  if (idle > 0) {
    warnings.push_back(
        fmt::format("{} of {} bits are the same for at least 99% of the vectors and hardly tell them apart; a few huge "
                    "values can do this: clip or scale the data, or ask for fewer bits",
                    idle, diagnostics.bits));
  }
  const double most =
      std::min(static_cast<double>(diagnostics.bits), std::log2(static_cast<double>(diagnostics.count)));
  if (!of_classes && diagnostics.entropy < kLittle * most) {
    warnings.push_back(
        fmt::format("the codes carry {:.1f} bits of information, where {:.1f} are possible: many vectors "
                    "share a code, and a search cannot tell them apart",
                    diagnostics.entropy, most));
  }
  if (of_classes && diagnostics.distinct < 2) warnings.emplace_back("all vectors have the same code");
  return warnings;
}

QuantizationDiagnostics diagnose_quantization(const Model& model, const Vectors& vectors, int thread_count) {
  Threads threads(thread_count);
  const HashEncoder encoder(model);
  if (vectors.dimension() != encoder.dimension()) {
    misuse("the vectors have dimension {}, the model expects {}", vectors.dimension(), encoder.dimension());
  }
  QuantizationDiagnostics out;
  if (vectors.size() == 0) return out;
  MatrixXf h(encoder.bits(), vectors.size());
  outputs_of(encoder, vectors, threads, h.data());
  const auto magnitude = h.array().abs().cast<double>();
  out.mean_magnitude = magnitude.mean();
  if (out.mean_magnitude > 0) out.error = (magnitude / out.mean_magnitude - 1).square().mean();
  return out;
}

std::string correlation_map(const CodesDiagnostics& diagnostics, std::size_t most) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  const std::size_t bits = diagnostics.bits;
  if (bits == 0 || most == 0) return "";
  const std::size_t per_cell = (bits + most - 1) / most;
  const std::size_t cells = (bits + per_cell - 1) / per_cell;
  std::string map;
  for (std::size_t r = 0; r < cells; ++r) {
    for (std::size_t c = 0; c < cells; ++c) {
      double largest = 0;
      for (std::size_t i = r * per_cell; i < std::min(bits, (r + 1) * per_cell); ++i) {
        for (std::size_t j = c * per_cell; j < std::min(bits, (c + 1) * per_cell); ++j) {
          largest = std::max(largest, diagnostics.correlation[i * bits + j]);
        }
      }
      const auto shade = static_cast<std::size_t>(largest * static_cast<double>(kShades.size() - 1) + 0.5);
      map += kShades[std::min(shade, kShades.size() - 1)];
    }
    map += '\n';
  }
  return map;
}

}  // namespace bdnn
