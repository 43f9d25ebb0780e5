#include "learn/class_moments.h"

#include <cmath>

#include "base/blocks.h"
#include "base/error.h"
#include "linalg/product.h"

namespace bdnn {

ClassMeans class_means(const Vectors& x, const ClassLabels& labels, Threads& threads) {
  const auto d = static_cast<Eigen::Index>(x.dimension());
  const MatrixXd zero = MatrixXd::Zero(d, static_cast<Eigen::Index>(labels.classes));
  MatrixXd sums = zero;
  sum_over_samples(threads, x.size(), zero, sums, [&](const Range& block, MatrixXd& sum) {
    std::vector<float> scratch(x.dimension());
    for (std::size_t i = block.first; i < block.first + block.count; ++i) {
      if (!labels.labelled(i)) continue;
      const float* sample = x.floats(i, 1, scratch.data());
      sum.col(labels.of[i]) += view(sample, x.dimension(), 1).col(0).cast<double>();
    }
  });
  ClassMeans means;
  double labelled = 0;
  for (const std::size_t size : labels.sizes) labelled += static_cast<double>(size);
  means.of_all = sums.rowwise().sum() / labelled;
  means.of_class = std::move(sums);
  for (std::size_t c = 0; c < labels.classes; ++c) {
    means.of_class.col(static_cast<Eigen::Index>(c)) /= static_cast<double>(labels.sizes[c]);
  }
  return means;
}

namespace {

// One below the other, to be summed together.
struct Scatters {
  MatrixXf of_all;
  MatrixXf weighted;  // sum over c of (n_c / m) S_c
};
struct ScatterSums {
  MatrixXd of_all;
  MatrixXd weighted;

  ScatterSums& operator+=(const ScatterSums& other) {
    of_all += other.of_all;
    weighted += other.weighted;
    return *this;
  }
};
void assign_sum(ScatterSums& sum, const Scatters& partial) {
  sum.of_all = partial.of_all.cast<double>();
  sum.weighted = partial.weighted.cast<double>();
}

}  // namespace

PairCovariances pair_covariances(const Vectors& x, const ClassLabels& labels, const ClassMeans& means,
                                 Threads& threads) {
  const std::size_t dimension = x.dimension();
  const auto d = static_cast<Eigen::Index>(dimension);
  double m = 0;
  double squares = 0;  // sum of n_c^2
  for (const std::size_t size : labels.sizes) {
    m += static_cast<double>(size);
    squares += static_cast<double>(size) * static_cast<double>(size);
  }
  if (!(squares > m)) {
    misuse("no two of the {} labelled samples share a label; there are no pairs of the same class to learn from", m);
  }
  const VectorXf centre = means.of_all.cast<float>();
  const MatrixXf centres = means.of_class.cast<float>();
  ScatterSums total{MatrixXd::Zero(d, d), MatrixXd::Zero(d, d)};
  const Scatters zero{MatrixXf::Zero(d, d), MatrixXf::Zero(d, d)};
  sum_over_samples(threads, x.size(), zero, total, [&](const Range& block, Scatters& sum) {
    const std::size_t tile = samples_per_tile(dimension);
    std::vector<float> scratch(tile * dimension);
    MatrixXf centred(dimension, tile);
    MatrixXf within(dimension, tile);
    for_each_tile(block, tile, [&](std::size_t first, std::size_t count) {
      const auto samples = view(x.floats(first, count, scratch.data()), dimension, count);
      Eigen::Index used = 0;
      for (std::size_t i = 0; i < count; ++i) {
        if (!labels.labelled(first + i)) continue;
        const auto own = labels.of[first + i];
        const double share = static_cast<double>(labels.sizes[static_cast<std::size_t>(own)]) / m;
        const auto sample = samples.col(static_cast<Eigen::Index>(i));
        centred.col(used) = sample - centre;
        within.col(used) = static_cast<float>(std::sqrt(share)) * (sample - centres.col(own));
        ++used;
      }
      const auto columns = static_cast<std::size_t>(used);
      add_gram_lower(centred.data(), dimension, dimension, columns, sum.of_all.data(), dimension);
      add_gram_lower(within.data(), dimension, dimension, columns, sum.weighted.data(), dimension);
    });
  });
  if (!total.of_all.allFinite()) failure("the training data is so large that its squares overflow; scale it down");
  if (!(total.of_all.trace() > 0))
    misuse("all {} labelled vectors are the same; there is nothing to learn from them", m);
  PairCovariances covariances;
  covariances.same = 2 * m / (squares - m) * total.weighted;
  covariances.different = 2 * m / (m * m - squares) * (total.of_all - total.weighted);
  return covariances;
}

}  // namespace bdnn
