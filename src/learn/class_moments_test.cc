// Runs under ThreadSanitizer: sums over samples on several threads.
#include "learn/class_moments.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "expect_error.h"

namespace bdnn {
namespace {

struct Example {
  Vectors x;
  ClassLabels labels;
};

// Uneven classes, one of a single sample, far from the origin; every seventh sample is unlabelled.
Example example(std::size_t dimension, std::size_t count) {
  Random random(5);
  std::vector<float> values(dimension * count);
  std::vector<std::int64_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) {
    labels[i] = i % 7 == 0 ? -1 : i == 3 ? 99 : static_cast<std::int64_t>(i % 5 / 2);
    for (std::size_t k = 0; k < dimension; ++k) {
      values[i * dimension + k] =
          static_cast<float>(50 + static_cast<double>(labels[i] % 10) + random.normal() * (1 + static_cast<double>(k)));
    }
  }
  return {{dimension, count, std::move(values)}, number_classes(labels, "m")};
}

VectorXd sample(const Vectors& x, std::size_t i) {
  return view(x.floats(i, 1, nullptr), x.dimension(), 1).col(0).cast<double>();
}

TEST(PairCovariances, AreThoseOfAllPairs) {
  const Example e = example(4, 200);
  Threads threads(2);
  const ClassMeans means = class_means(e.x, e.labels, threads);
  const PairCovariances found = pair_covariances(e.x, e.labels, means, threads);
  MatrixXd same = MatrixXd::Zero(4, 4);
  MatrixXd different = MatrixXd::Zero(4, 4);
  double same_pairs = 0;
  double different_pairs = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!e.labels.labelled(i) || !e.labels.labelled(j)) continue;
      const VectorXd difference = sample(e.x, i) - sample(e.x, j);
      const bool alike = e.labels.of[i] == e.labels.of[j];
      (alike ? same : different) += difference * difference.transpose();
      (alike ? same_pairs : different_pairs) += 1;
    }
  }
  const MatrixXd lower_same = found.same.triangularView<Eigen::Lower>();
  const MatrixXd lower_different = found.different.triangularView<Eigen::Lower>();
  EXPECT_TRUE(lower_same.isApprox(MatrixXd((same / same_pairs).triangularView<Eigen::Lower>()), 1e-5));
  EXPECT_TRUE(lower_different.isApprox(MatrixXd((different / different_pairs).triangularView<Eigen::Lower>()), 1e-5));
}

TEST(ClassMeans, AreThoseOfTheLabelledAndOfEachClass) {
  const Example e = example(3, 5000);
  Threads threads(3);
  const ClassMeans means = class_means(e.x, e.labels, threads);
  VectorXd all = VectorXd::Zero(3);
  VectorXd second = VectorXd::Zero(3);
  double labelled = 0;
  for (std::size_t i = 0; i < 5000; ++i) {
    if (!e.labels.labelled(i)) continue;
    all += sample(e.x, i);
    labelled += 1;
    if (e.labels.of[i] == 1) second += sample(e.x, i);
  }
  EXPECT_TRUE(means.of_all.isApprox(all / labelled, 1e-12));
  EXPECT_TRUE(means.of_class.col(1).isApprox(second / static_cast<double>(e.labels.sizes[1]), 1e-12));
  EXPECT_TRUE(means.of_class.col(3).isApprox(sample(e.x, 3), 1e-12));  // alone in its class
}

TEST(PairCovariances, NeedAPairOfTheSameClass) {
  Threads threads(1);
  const Vectors x(1, 3, {1, 2, 3});
  const ClassLabels labels = number_classes(std::vector<std::int64_t>{1, 2, 3}, "m");
  EXPECT_BDNN_ERROR(pair_covariances(x, labels, class_means(x, labels, threads), threads), misuse,
                    "no two of the 3 labelled samples share a label");
}

}  // namespace
}  // namespace bdnn
