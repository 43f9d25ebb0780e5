#include "learn/moments.h"

#include <cmath>
#include <vector>

#include "base/error.h"
#include "data/format.h"
#include "linalg/product.h"

namespace bdnn {
namespace {

void refuse_not_finite(const Vectors& x, const float* values, const Range& range) {
  for (std::size_t i = 0; i < range.count * x.dimension(); ++i) {
    if (std::isfinite(values[i])) continue;
    const std::size_t row = range.first + i / x.dimension();
    const std::size_t column = i % x.dimension();
    failure("the training data has {} in row {}, column {} (counted from 0); every number must be finite",
            not_finite_text(x, row, column), row, column);
  }
}

// Calls f(range, floats) for each cache-sized part of a block.
template <class F>
void for_each_tile_of(const Vectors& x, const Range& block, std::vector<float>& scratch, const F& f) {
  const std::size_t tile = samples_per_tile(x.dimension());
  scratch.resize(tile * x.dimension());
  for_each_tile(block, tile, [&](std::size_t first, std::size_t count) {
    f(Range{first, count}, x.floats(first, count, scratch.data()));
  });
}

}  // namespace

VectorXd mean_of(const Vectors& x, Threads& threads) {
  const auto dimension = static_cast<Eigen::Index>(x.dimension());
  VectorXd total = VectorXd::Zero(dimension);
  const VectorXd zero = VectorXd::Zero(dimension);
  sum_over_samples(threads, x.size(), zero, total, [&](const Range& block, VectorXd& sum) {
    std::vector<float> scratch;
    for_each_tile_of(x, block, scratch, [&](const Range& part, const float* values) {
      // In double from the first sample on: far from the origin, a sum of floats has no digits left for the data.
      VectorXd tile_sum = VectorXd::Zero(dimension);
      for (std::size_t i = 0; i < part.count; ++i) {
        tile_sum += view(values + i * x.dimension(), x.dimension(), 1).col(0).cast<double>();
      }
      if (!tile_sum.allFinite()) refuse_not_finite(x, values, part);
      sum += tile_sum;
    });
  });
  return total / static_cast<double>(x.size());
}

namespace {

template <class T>
MatrixXd sum_of_squares(const Vectors& x, const VectorXd& mean, Threads& threads) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  const std::size_t dimension = x.dimension();
  const auto d = static_cast<Eigen::Index>(dimension);
  DoubleSum total{MatrixXd::Zero(d, d)};
  const Matrix zero = Matrix::Zero(d, d);
  const Eigen::Matrix<T, Eigen::Dynamic, 1> centre = mean.cast<T>();
  sum_over_samples(threads, x.size(), zero, total, [&](const Range& block, Matrix& sum) {
    std::vector<float> scratch;
    Matrix centred;
    for_each_tile_of(x, block, scratch, [&](const Range& part, const float* values) {
      centred = view(values, dimension, part.count).template cast<T>().colwise() - centre;
      add_gram_lower(centred.data(), dimension, dimension, part.count, sum.data(), dimension);
    });
  });
  return std::move(total.value);
}

}  // namespace

MatrixXd covariance_of(const Vectors& x, const VectorXd& mean, Threads& threads, Precision precision) {
  const MatrixXd sum = precision == Precision::float_products ? sum_of_squares<float>(x, mean, threads)
                                                              : sum_of_squares<double>(x, mean, threads);
  return sum / static_cast<double>(x.size());
}

}  // namespace bdnn
