#include "methods/bre/coordinate_descent.h"

#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "codes/hamming.h"

namespace bdnn {
namespace {

constexpr std::uint64_t kFalls = std::uint64_t{1} << 63;

// By the upper half of the keys; equal ones keep their order.
void radix_sort(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& room) {
  constexpr int kDigit = 11;
  room.resize(keys.size());
  for (int shift = 32; shift < 64; shift += kDigit) {
    constexpr std::size_t kValues = std::size_t{1} << kDigit;
    std::array<std::size_t, kValues> places{};
    for (const std::uint64_t key : keys) ++places[key >> shift & (kValues - 1)];
    std::size_t place = 0;
    for (std::size_t& count : places) place += std::exchange(count, place);
    for (const std::uint64_t key : keys) room[places[key >> shift & (kValues - 1)]++] = key;
    keys.swap(room);
  }
}

float distance_in(std::uint64_t key) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(key >> 32) & 0x7fffffffU);
}
std::size_t sample_in(std::uint64_t key) { return static_cast<std::uint32_t>(key); }

}  // namespace

CoordinateDescent::CoordinateDescent(const PairTargets& targets, const MatrixXf& features,
                                     std::vector<std::vector<std::uint32_t>> anchors, MatrixXd weights,
                                     Threads& threads)
    : targets_(targets),
      features_(features),
      anchors_(std::move(anchors)),
      weights_(std::move(weights)),
      threads_(threads),
      outputs_(features.rows(), weights_.cols()),
      codes_(weights_.cols(), features.rows()),
      bit_products_(weights_.cols(), weights_.cols()),
      target_sums_(targets.size(), weights_.cols()),
      ones_(weights_.cols()) {
  threads_.for_each(anchors_.size(), [&](std::size_t bit, int) {
    auto f = outputs_.col(static_cast<Eigen::Index>(bit));
    f.setZero();
    for (std::size_t q = 0; q < anchors_[bit].size(); ++q) {
      f += weights_(static_cast<Eigen::Index>(q), static_cast<Eigen::Index>(bit)) *
           features_.col(anchors_[bit][q]).cast<double>();
    }
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      codes_(static_cast<Eigen::Index>(bit), i) = static_cast<float>(sign_of(f[i]));
    }
  });
  threads_.for_each(anchors_.size(), [&](std::size_t bit, int) {
    const auto p = static_cast<Eigen::Index>(bit);
    VectorXd sum = VectorXd::Zero(targets_.size());
    VectorXd products = VectorXd::Zero(codes_.rows());
    for (Eigen::Index i = 0; i < codes_.cols(); ++i) {
      const auto b = static_cast<double>(codes_(p, i));
      targets_.add(static_cast<std::size_t>(i), b, sum);
      products += b * codes_.col(i).cast<double>();
    }
    target_sums_.col(p) = sum;
    bit_products_.col(p) = products;
    ones_[p] = static_cast<double>(codes_.row(p).cast<double>().sum());
  });
}

double CoordinateDescent::objective() const {
  const auto l = static_cast<double>(codes_.rows());
  const auto m = static_cast<double>(codes_.cols());
  // ||H^T H / L - S||^2, as for SH-BDNN; distances are half of inner products.
  const double sum = bit_products_.squaredNorm() / (l * l) -
                     2 / l * (2 * target_sums_.squaredNorm() - ones_.squaredNorm()) + targets_.squared_norm();
  return sum / (4 * m * m);
}

void CoordinateDescent::find_flips(std::size_t bit, std::size_t q, Flips& flips) const {
  const auto f = outputs_.col(static_cast<Eigen::Index>(bit));
  const auto phi = features_.col(anchors_[bit][q]);
  flips.keys.clear();
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    if (phi[i] == 0) continue;
    const double slope = static_cast<double>(phi[i]);
    const auto distance = static_cast<float>(std::abs(f[i] / slope));
    if (!std::isfinite(distance)) continue;  // no breakpoint
    const bool falls = (f[i] >= 0) == (slope > 0);
    flips.keys.push_back((falls ? kFalls : 0) | std::uint64_t{std::bit_cast<std::uint32_t>(distance)} << 32 |
                         static_cast<std::uint64_t>(i));
  }
  radix_sort(flips.keys, flips.room);
}

double CoordinateDescent::flip(Eigen::Index bit, std::size_t sample, BitSums& sums) const {
  const auto i = static_cast<Eigen::Index>(sample);
  const auto l = static_cast<double>(codes_.rows());
  const auto code = codes_.col(i).cast<double>();
  const auto b = static_cast<double>(codes_(bit, i));
  const double rb = l * (2 * targets_.product(sample, sums.targets) - sums.ones) - code.dot(sums.bits);
  const double r_ii = l * targets_.diagonal(sample) - (l - 1);
  targets_.add(sample, -2 * b, sums.targets);
  sums.ones -= 2 * b;
  sums.bits -= 2 * b * code;
  sums.bits[bit] = 0;
  return 4 * (r_ii - b * rb);
}

void CoordinateDescent::step_bit(std::size_t bit, std::size_t q, const Flips& flips) {
  const auto p = static_cast<Eigen::Index>(bit);
  BitSums now{target_sums_.col(p), bit_products_.col(p), ones_[p]};
  now.bits[p] = 0;
  // A gain must exceed what rounding alone may produce.
  const auto m = static_cast<double>(codes_.cols());
  double best = 1e-12 * m * m * static_cast<double>(codes_.rows());
  double change = 0;
  std::size_t k = 0;
  for (const bool falls : {false, true}) {
    BitSums sums = now;
    double gain = 0;
    for (; k < flips.keys.size() && ((flips.keys[k] & kFalls) != 0) == falls; ++k) {
      gain += flip(p, sample_in(flips.keys[k]), sums);
      if (gain <= best) continue;
      const auto distance = static_cast<double>(distance_in(flips.keys[k]));
      const bool last = k + 1 == flips.keys.size() || ((flips.keys[k + 1] & kFalls) != 0) != falls;
      const double next = last ? 2 * distance + 1 : static_cast<double>(distance_in(flips.keys[k + 1]));
      if (!(next > distance)) continue;  // more flips at the same place
      best = gain;
      change = (falls ? -0.5 : 0.5) * (distance + next);
    }
  }
  if (change == 0) return;
  // Rounding decides about samples at a breakpoint, so the gain is that of the signs as they come out.
  const VectorXd f = outputs_.col(p) + change * features_.col(anchors_[bit][q]).cast<double>();
  std::vector<Eigen::Index> flipped;
  double gain = 0;
  for (Eigen::Index i = 0; i < f.size(); ++i) {
    if (static_cast<float>(sign_of(f[i])) == codes_(p, i)) continue;
    gain += flip(p, static_cast<std::size_t>(i), now);
    flipped.push_back(i);
  }
  if (gain <= 0) return;
  for (const Eigen::Index i : flipped) codes_(p, i) = -codes_(p, i);
  outputs_.col(p) = f;
  weights_(static_cast<Eigen::Index>(q), p) += change;
  now.bits[p] = m;
  target_sums_.col(p) = now.targets;
  bit_products_.col(p) = now.bits;
  bit_products_.row(p) = now.bits.transpose();
  ones_[p] = now.ones;
}

void CoordinateDescent::step(const std::vector<std::uint32_t>& weight_of_bit) {
  // The breakpoints of a bit depend on no other bit: they are sorted for several bits at once, while the steps
  // themselves are taken bit after bit.
  std::vector<Flips> flips(static_cast<std::size_t>(threads_.count()));
  threads_.in_order(
      anchors_.size(),
      [&](std::size_t bit, int worker) {
        find_flips(bit, weight_of_bit[bit], flips[static_cast<std::size_t>(worker)]);
      },
      [&](std::size_t bit, int worker) { step_bit(bit, weight_of_bit[bit], flips[static_cast<std::size_t>(worker)]); });
}

void CoordinateDescent::step(std::size_t q) {
  step(std::vector<std::uint32_t>(anchors_.size(), static_cast<std::uint32_t>(q)));
}

void CoordinateDescent::normalise() {
  for (Eigen::Index p = 0; p < weights_.cols(); ++p) {
    const double largest = weights_.col(p).cwiseAbs().maxCoeff();
    if (largest == 0) continue;
    const int exponent = std::ilogb(largest);
    const auto scaled = [&](double value) { return std::ldexp(value, -exponent); };
    weights_.col(p) = weights_.col(p).unaryExpr(scaled).eval();
    outputs_.col(p) = outputs_.col(p).unaryExpr(scaled).eval();
  }
}

}  // namespace bdnn
