// Ridge regression of samples x on features b, in closed form from sums over samples:
//
//     min over W, c of  1/2m ||X - W B - c 1^T||^2 + lambda/2 ||W||^2
//
// UH-BDNN's decoder is one (features: the bits of the codes), and so is the fitted start of a network's last layer.
#pragma once

#include <algorithm>
#include <vector>

#include "base/blocks.h"
#include "base/threads.h"
#include "learn/training_set.h"
#include "linalg/matrix.h"

namespace bdnn {

// x = W b + c
struct RidgeRegression {
  MatrixXf w;  // D x L
  VectorXf c;  // D
};

// The sums over samples that determine the regression.
struct RidgeSums {
  MatrixXd bb;         // B B^T
  VectorXd b;          // B 1
  MatrixXd bx;         // B X^T
  VectorXd x;          // X 1
  double squares = 0;  // ||X||^2
  double samples = 0;

  RidgeSums(std::size_t features, std::size_t dimension);
  RidgeSums& operator+=(const RidgeSums& other);
};

// Adds the samples x (D x count) with the features b (L x count).
class RidgePartialSums {
 public:
  RidgePartialSums(std::size_t features, std::size_t dimension);
  void clear();
  void add(const float* x, const float* b, std::size_t count);
  void assign_to(RidgeSums& sum) const;

 private:
  MatrixXf bb_;
  MatrixXf bx_;
  RidgeSums rest_;
};

RidgeRegression fit_ridge(const RidgeSums& sums, double lambda);

// 1/2m ||X - W B - c 1^T||^2
double mean_squared_error(const RidgeSums& sums, const RidgeRegression& regression);

// Adds to `total` the sums over a set: work(partial, first, count, x) adds those of a tile of it, whose samples x it is
// given.
template <class Partial, class Total, class Work>
void add_sums_over(const TrainingSet& set, const Partial& zero, Total& total, Threads& threads, const Work& work) {
  const std::size_t tile = samples_per_tile(set.dimension());
  sum_over_samples(threads, set.size(), zero, total, [&](const Range& block, Partial& partial) {
    std::vector<float> x(tile * set.dimension());
    for_each_tile(block, tile, [&](std::size_t first, std::size_t count) {
      set.load(first, count, x.data());
      work(partial, first, count, x.data());
    });
  });
}

// The sums of a regression of samples of `dimension` on `features` features.
template <class Work>
RidgeSums sums_over(const TrainingSet& set, std::size_t features, std::size_t dimension, Threads& threads,
                    const Work& work) {
  RidgeSums total(features, dimension);
  add_sums_over(set, RidgePartialSums(features, dimension), total, threads, work);
  return total;
}

}  // namespace bdnn
