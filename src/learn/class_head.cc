#include "learn/class_head.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "base/blocks.h"
#include "base/random.h"
#include "learn/affine.h"
#include "learn/layers.h"
#include "learn/ridge_regression.h"
#include "linalg/decompose.h"
#include "model/network_form.h"

namespace bdnn {
namespace {

// C, bits x classes.
MatrixXd matrix_of(const TargetCodes& class_codes) {
  MatrixXd c(class_codes.bits(), class_codes.size());
  for (std::size_t k = 0; k < class_codes.size(); ++k)
    class_codes.unpack(k, c.col(static_cast<Eigen::Index>(k)).data());
  return c;
}

// A W, for weights as they stand in a layer.
std::vector<float> times(const MatrixXd& a, const std::vector<float>& weight) {
  const Eigen::Index columns = static_cast<Eigen::Index>(weight.size()) / a.cols();
  const MatrixXd w = Eigen::Map<const RowMajorXf>(weight.data(), a.cols(), columns).cast<double>();
  std::vector<float> product(static_cast<std::size_t>(a.rows() * columns));
  Eigen::Map<RowMajorXf>(product.data(), a.rows(), columns) = small_product(a, w).cast<float>();
  return product;
}

// The largest score of all, and the smallest that any vector's best class has.
struct ScoreRange {
  float largest = -std::numeric_limits<float>::infinity();
  float least = std::numeric_limits<float>::infinity();
};

ScoreRange range_of(const Network& scores, const Vectors& x, std::span<const std::uint32_t> rows) {
  constexpr std::size_t kEnough = 10000;
  const FormOf<Network>::Encoder encoder(scores);
  const std::size_t classes = scores.layers.back().outputs;
  const std::size_t step = std::max<std::size_t>(1, rows.size() / kEnough);
  std::vector<float> scratch(x.dimension());
  EncoderScratch buffers;
  ScoreRange range;
  for (std::size_t i = 0; i < rows.size(); i += step) {
    const float* z = encoder.outputs(x.floats(rows[i], 1, scratch.data()), 1, buffers);
    const float best = *std::max_element(z, z + classes);
    range.largest = std::max(range.largest, best);
    range.least = std::min(range.least, best);
  }
  return range;
}

}  // namespace

Network class_scores(const Network& network, const TargetCodes& class_codes) {
  const MatrixXd transposed = matrix_of(class_codes).transpose() / static_cast<double>(class_codes.bits());
  Network scores = network;
  Layer& last = scores.layers.back();
  last.weight = times(transposed, last.weight);
  last.bias = times(transposed, last.bias);
  last.outputs = class_codes.size();
  if (!scores.linear.empty()) scores.linear = times(transposed, scores.linear);
  return scores;
}

std::vector<Network> ridge_class_scores(const TrainingSet& set, std::span<const std::int32_t> class_of,
                                        std::size_t classes, const std::vector<double>& decays, Threads& threads) {
  const RidgeSums sums =
      sums_over(set, set.dimension(), classes, threads,
                [&](RidgePartialSums& partial, std::size_t first, std::size_t count, const float* x) {
                  std::vector<float> y(count * classes, -1.0F);
                  for (std::size_t i = 0; i < count; ++i) {
                    y[i * classes + static_cast<std::size_t>(class_of[first + i])] = 1;
                  }
                  partial.add(y.data(), x, count);
                });
  const LayerSizes sizes({set.dimension(), classes});
  std::vector<Network> networks;
  for (const double decay : decays) {
    const RidgeRegression fitted = fit_ridge(sums, decay);
    std::vector<float> parameters(fitted.w.data(), fitted.w.data() + fitted.w.size());
    parameters.insert(parameters.end(), fitted.c.begin(), fitted.c.end());
    networks.push_back(to_network(sizes, parameters, set.scaling().offset, set.scaling().factor));
  }
  return networks;
}

std::size_t count_right(const Network& scores, const Vectors& x, std::span<const std::uint32_t> rows,
                        std::span<const std::int32_t> class_of, Threads& threads) {
  const FormOf<Network>::Encoder encoder(scores);
  const std::size_t classes = scores.layers.back().outputs;
  const Scaling none{VectorXd::Zero(static_cast<Eigen::Index>(x.dimension())), 1};
  const TrainingSet set(x, {rows.begin(), rows.end()}, none);
  const std::size_t tile = samples_per_tile(x.dimension());
  std::vector<std::size_t> right(blocks_of(set.size()), 0);
  threads.for_each(right.size(), [&](std::size_t block, int) {
    std::vector<float> samples(tile * x.dimension());
    EncoderScratch buffers;
    for_each_tile(block_range(block, set.size()), tile, [&](std::size_t first, std::size_t count) {
      set.load(first, count, samples.data());
      const float* z = encoder.outputs(samples.data(), count, buffers);
      for (std::size_t i = 0; i < count; ++i, z += classes) {
        right[block] += std::max_element(z, z + classes) - z == class_of[rows[first + i]] ? 1 : 0;
      }
    });
  });
  return std::accumulate(right.begin(), right.end(), std::size_t{0});
}

double choose_ridge_decay(const Vectors& x, const Scaling& scaling, std::span<const std::uint32_t> rows,
                          std::span<const std::int32_t> class_of, std::size_t classes,
                          const std::vector<double>& decays, std::uint64_t seed, Threads& threads) {
  constexpr std::size_t kFolds = 5;
  constexpr std::size_t kEnough = 10000;
  Random random(seed);
  std::vector<std::uint32_t> order = random_rows(rows.size(), std::min(rows.size(), kEnough), random);
  for (auto& place : order) place = rows[place];
  std::vector<std::size_t> right(decays.size(), 0);
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(order.size() * fold / kFolds);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(order.size() * (fold + 1) / kFolds);
    std::vector<std::uint32_t> fitted(order.begin(), begin);
    fitted.insert(fitted.end(), end, order.end());
    if (fitted.empty() || begin == end) continue;
    std::vector<std::int32_t> own;
    for (const auto row : fitted) own.push_back(class_of[row]);
    const auto networks = ridge_class_scores(TrainingSet(x, std::move(fitted), scaling), own, classes, decays, threads);
    const std::vector<std::uint32_t> tested(begin, end);
    for (std::size_t i = 0; i < decays.size(); ++i) right[i] += count_right(networks[i], x, tested, class_of, threads);
  }
  return decays[static_cast<std::size_t>(std::max_element(right.begin(), right.end()) - right.begin())];
}

Network sum_of_scores(Network network, const Network& affine) {
  const auto add = [](const std::vector<float>& from, std::vector<float>& to) {
    std::transform(from.begin(), from.end(), to.begin(), to.begin(), std::plus<>());
  };
  Layer& last = network.layers.back();
  const Layer& other = affine.layers.front();
  if (network.layers.size() == 1) {
    add(other.weight, last.weight);
  } else if (network.linear.empty()) {
    network.linear = other.weight;
  } else {
    add(other.weight, network.linear);
  }
  add(other.bias, last.bias);
  return network;
}

Network with_class_head(Network scores, const TargetCodes& class_codes, const Vectors& x,
                        std::span<const std::uint32_t> rows) {
  constexpr float kNats = 60;  // from the largest score to the least: what e^-87, the end of floats, leaves room for
  const ScoreRange range = range_of(scores, x, rows);
  const float beta = kNats / std::max(range.largest - range.least, std::numeric_limits<float>::min() * kNats);
  Layer& last = scores.layers.back();
  for (float& weight : last.weight) weight *= beta;
  for (float& bias : last.bias) bias = beta * (bias - range.largest);
  for (float& weight : scores.linear) weight *= beta;
  last.activation = Activation::sigmoid;
  if (!scores.linear.empty()) scores.layers_after_linear = 1;
  Layer head;
  head.inputs = class_codes.size();
  head.outputs = class_codes.bits();
  head.weight.resize(head.inputs * head.outputs);
  Eigen::Map<RowMajorXf>(head.weight.data(), static_cast<Eigen::Index>(head.outputs),
                         static_cast<Eigen::Index>(head.inputs)) = matrix_of(class_codes).cast<float>();
  head.bias.assign(head.outputs, 0.0F);
  scores.layers.push_back(std::move(head));
  return scores;
}

}  // namespace bdnn
