#include "methods/sph/spheres.h"

#include <algorithm>
#include <cmath>

#include "base/blocks.h"
#include "base/error.h"
#include "codes/hamming.h"
#include "codes/spherical.h"
#include "learn/order_statistic.h"
#include "linalg/decompose.h"
#include "linalg/product.h"

namespace bdnn {
namespace {

constexpr Eigen::Index kBitsAtATime = 32;                     // whose distances are kept at once
constexpr std::size_t kBytesPerBlock = kSamplesPerBlock / 8;  // one bit per sample

// Squares of distances to pivots a thousand times as far out are still finite.
constexpr float kLargestSquare = 1e30F;

}  // namespace

Spheres::Spheres(const Vectors& x, const VectorXd& centre, const MatrixXd& first_pivots, Threads& threads)
    : threads_(threads),
      samples_(x.size()),
      bits_(static_cast<std::size_t>(first_pivots.rows())),
      first_pivots_(first_pivots),
      first_gram_(small_gram(first_pivots.transpose())),
      combination_(MatrixXd::Identity(first_pivots.rows(), first_pivots.rows())),
      products_(first_pivots.rows(), x.size()),
      norms_(samples_),
      squares_(samples_ * std::min<std::size_t>(bits_, kBitsAtATime)),
      inside_(blocks_of(samples_) * bits_ * kBytesPerBlock) {
  const std::size_t dimension = x.dimension();
  const VectorXf offset = centre.cast<float>();
  const MatrixXf rounded = first_pivots.cast<float>();
  const auto packed = PackedMatrix<float>::from_columns(rounded.data(), bits_, dimension, bits_);
  double sum = 0;
  sum_over_samples(threads, samples_, 0.0, sum, [&](const Range& block, double& partial) {
    const std::size_t tile = samples_per_tile(dimension);
    std::vector<float> scratch(tile * dimension);
    MatrixXf centred;
    for_each_tile(block, tile, [&](std::size_t first, std::size_t count) {
      centred = view(x.floats(first, count, scratch.data()), dimension, count).colwise() - offset;
      multiply(packed, centred.data(), count, dimension, products_.data() + first * bits_, bits_);
      for (std::size_t i = 0; i < count; ++i) {
        norms_[first + i] = centred.col(static_cast<Eigen::Index>(i)).squaredNorm();
        partial += static_cast<double>(norms_[first + i]);
      }
    });
  });
  if (*std::max_element(norms_.begin(), norms_.end()) > kLargestSquare) {
    failure("the training data is so large that its squares overflow; scale it down");
  }
  if (!(sum > 0)) misuse("all {} vectors are the same; there is nothing to learn from them", samples_);
  mean_square_ = sum / static_cast<double>(samples_);
  update();
}

MatrixXd Spheres::pivots() const { return small_product(combination_, first_pivots_); }

double Spheres::reach() const { return std::sqrt(squared_norms_.maxCoeff() / mean_square_); }

void Spheres::move(const MatrixXd& step) {
  combination_ = small_product(step, combination_);
  update();
}

void Spheres::update() {
  squared_norms_ = small_product(combination_, first_gram_).cwiseProduct(combination_).rowwise().sum();
  for (Eigen::Index first = 0; first < combination_.rows(); first += kBitsAtATime) {
    measure(first, std::min(kBitsAtATime, combination_.rows() - first));
  }
  count_overlaps();
}

// The distances to pivots [first, first + count), and what is inside their spheres.
void Spheres::measure(Eigen::Index first, Eigen::Index count) {
  const auto rows = static_cast<std::size_t>(count);
  const MatrixXf some = combination_.middleRows(first, count).cast<float>();
  const VectorXf pivot_norms = squared_norms_.segment(first, count).cast<float>();
  const auto packed = PackedMatrix<float>::from_columns(some.data(), rows, bits_, rows);
  threads_.for_each(blocks_of(samples_), [&](std::size_t block, int) {
    const Range range = block_range(block, samples_);
    std::vector<float> h(rows * range.count);
    multiply(packed, products_.data() + range.first * bits_, range.count, bits_, h.data(), rows);
    for (std::size_t k = 0; k < rows; ++k) {
      float* out = squares_.data() + k * samples_ + range.first;
      const float norm = pivot_norms[static_cast<Eigen::Index>(k)];
      for (std::size_t i = 0; i < range.count; ++i) out[i] = norms_[range.first + i] + (norm - 2 * h[i * rows + k]);
    }
  });
  std::vector<std::vector<float>> scratch(static_cast<std::size_t>(threads_.count()));
  threads_.for_each(rows, [&](std::size_t k, int worker) {
    set_radius(static_cast<std::size_t>(first) + k, squares_.data() + k * samples_,
               scratch[static_cast<std::size_t>(worker)]);
  });
}

void Spheres::set_radius(std::size_t bit, const float* squares, std::vector<float>& scratch) {
  const float square = nth_smallest(squares, samples_, (samples_ - 1) / 2, scratch);
  float depths[kSamplesPerBlock];
  for (std::size_t block = 0; block < blocks_of(samples_); ++block) {
    const Range range = block_range(block, samples_);
    for (std::size_t i = 0; i < range.count; ++i) depths[i] = square - squares[range.first + i];
    pack_signs(depths, range.count, 1, inside(block, bit));
  }
}

std::uint8_t* Spheres::inside(std::size_t block, std::size_t bit) {
  return inside_.data() + (block * bits_ + bit) * kBytesPerBlock;
}

// Sums of integers are exact, so it does not matter which thread has which block.
void Spheres::count_overlaps() {
  const auto size = static_cast<Eigen::Index>(bits_);
  std::vector<MatrixXd> sums(static_cast<std::size_t>(threads_.count()), MatrixXd::Zero(size, size));
  threads_.for_each(blocks_of(samples_), [&](std::size_t block, int worker) {
    MatrixXd& sum = sums[static_cast<std::size_t>(worker)];
    std::vector<std::uint16_t> counts(bits_);
    std::vector<std::uint16_t> differing(bits_);
    const std::uint8_t* all = inside(block, 0);
    count_bits(all, kBytesPerBlock, bits_, counts.data());
    for (std::size_t k = 0; k < bits_; ++k) {
      hamming_distances(inside(block, k), all, kBytesPerBlock, bits_, differing.data());
      for (std::size_t l = 0; l < bits_; ++l) {
        sum(static_cast<Eigen::Index>(l), static_cast<Eigen::Index>(k)) +=
            static_cast<double>(common_bits(counts[k], counts[l], differing[l]));
      }
    }
  });
  overlaps_ = MatrixXd::Zero(size, size);
  for (const MatrixXd& sum : sums) overlaps_ += sum;
}

OverlapError overlap_error(const MatrixXd& overlaps, std::size_t samples) {
  const Eigen::Index bits = overlaps.rows();
  const double quarter = static_cast<double>(samples) / 4;
  const double pairs = static_cast<double>(bits * (bits - 1)) / 2;
  if (pairs == 0) return {};
  double distance = 0;
  double mean = 0;
  double square = 0;
  for (Eigen::Index k = 0; k < bits; ++k) {
    for (Eigen::Index l = 0; l < k; ++l) {
      const double off = overlaps(k, l) / quarter - 1;
      distance += std::abs(off);
      mean += off;
      square += off * off;
    }
  }
  mean /= pairs;
  return {distance / pairs, std::sqrt(std::max(0.0, square / pairs - mean * mean))};
}

MatrixXd step_by_forces(const MatrixXd& overlaps, std::size_t samples) {
  const Eigen::Index bits = overlaps.rows();
  const double quarter = static_cast<double>(samples) / 4;
  MatrixXd step = MatrixXd::Identity(bits, bits);
  for (Eigen::Index k = 0; k < bits; ++k) {
    for (Eigen::Index l = 0; l < bits; ++l) {
      if (l == k) continue;
      const double force = 0.5 * (overlaps(k, l) - quarter) / quarter / static_cast<double>(bits);
      step(k, k) += force;
      step(k, l) -= force;
    }
  }
  return step;
}

}  // namespace bdnn
