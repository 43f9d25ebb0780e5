#include "learn/anchors.h"

#include <algorithm>
#include <cmath>

#include "base/blocks.h"
#include "base/error.h"
#include "base/random.h"
#include "learn/moments.h"

namespace bdnn {
namespace {

double squared_distance(const float* x, const VectorXd& y) {
  double sum = 0;
  for (Eigen::Index k = 0; k < y.size(); ++k) {
    const double difference = static_cast<double>(x[k]) - y[k];
    sum += difference * difference;
  }
  return sum;
}

// The mean of ||x - mean||^2.
double total_variance(const Vectors& x, const VectorXd& mean, Threads& threads) {
  double total = 0;
  sum_over_samples(threads, x.size(), 0.0, total, [&](const Range& block, double& sum) {
    std::vector<float> scratch(x.dimension());
    for (std::size_t i = 0; i < block.count; ++i) {
      sum += squared_distance(x.floats(block.first + i, 1, scratch.data()), mean);
    }
  });
  return total / static_cast<double>(x.size());
}

}  // namespace

double mean_squared_distance(const Vectors& x, const VectorXd& mean, const std::vector<float>& anchors,
                             Threads& threads) {
  const Vectors a = Vectors::view(anchors.data(), x.dimension(), anchors.size() / x.dimension());
  const VectorXd anchor_mean = mean_of(a, threads);
  return total_variance(x, mean, threads) + total_variance(a, anchor_mean, threads) +
         (mean - anchor_mean).squaredNorm();
}

AnchorNetwork sample_anchors(const Vectors& x, std::size_t count, double width, std::uint64_t seed, Threads& threads) {
  const VectorXd mean = mean_of(x, threads);  // also reports numbers that are not finite
  if (count > x.size()) {
    misuse("{} anchors cannot be chosen from {} samples; ask for at most {} anchors", count, x.size(), x.size());
  }
  AnchorNetwork function;
  function.dimension = x.dimension();
  function.anchors.resize(count * x.dimension());
  Random random(seed);
  const auto rows = random_rows(x.size(), count, random);
  std::vector<float> scratch(x.dimension());
  for (std::size_t j = 0; j < count; ++j) {
    std::copy_n(x.floats(rows[j], 1, scratch.data()), x.dimension(), function.anchors.data() + j * x.dimension());
  }
  const double distance = mean_squared_distance(x, mean, function.anchors, threads);
  if (!std::isfinite(distance)) failure("the training data is so large that its squares overflow; scale it down");
  if (!(distance > 0)) misuse("all {} vectors are the same; there is nothing to learn from them", x.size());
  function.gamma = static_cast<float>(1 / (width * distance));
  return function;
}

}  // namespace bdnn
