#include "methods/sh/sh.h"

#include <functional>
#include <limits>
#include <numbers>
#include <queue>
#include <tuple>

#include "data/tiles.h"
#include "learn/affine.h"
#include "model/hash_function.h"

namespace bdnn {
namespace {

struct ShOptions {};

// The smallest and the largest of each output of a network, over all vectors.
struct OutputRanges {
  VectorXf least;
  VectorXf most;
};

OutputRanges output_ranges(const Network& network, const Vectors& x, Threads& threads) {
  const HashEncoder encoder(network);
  const auto rows = static_cast<Eigen::Index>(encoder.bits());
  const OutputRanges none{VectorXf::Constant(rows, std::numeric_limits<float>::infinity()),
                          VectorXf::Constant(rows, -std::numeric_limits<float>::infinity())};
  std::vector<OutputRanges> found(static_cast<std::size_t>(threads.count()), none);
  std::vector<EncoderScratch> scratch(found.size());
  for_each_tile_of(x, threads, [&](std::size_t, std::size_t count, const float* samples, std::size_t worker) {
    OutputRanges& own = found[worker];
    const auto h = view(encoder.outputs(samples, count, scratch[worker]), encoder.bits(), count);
    for (Eigen::Index i = 0; i < h.cols(); ++i) {
      own.least = own.least.cwiseMin(h.col(i));
      own.most = own.most.cwiseMax(h.col(i));
    }
  });
  OutputRanges all = none;  // the extremes do not depend on which thread met them
  for (const auto& [least, most] : found) {
    all.least = all.least.cwiseMin(least);
    all.most = all.most.cwiseMax(most);
  }
  return all;
}

Trained train_sh(const TrainingTask& task, const ShOptions&) {
  const Moments moments = moments_of(task.x, task.threads, task.progress);
  const MatrixXd directions = varying_directions(task.x, moments, task.bits, task.threads);
  const OutputRanges ranges = output_ranges(affine_network(directions, moments.mean), task.x, task.threads);
  const VectorXd least = ranges.least.cast<double>();
  const VectorXd widths = ranges.most.cast<double>() - least;

  const auto modes = smoothest_modes(widths, task.bits);
  MatrixXd weight(task.bits, task.x.dimension());
  VectorXd phase(task.bits);
  for (std::size_t bit = 0; bit < task.bits; ++bit) {
    const auto row = static_cast<Eigen::Index>(bit);
    const auto direction = static_cast<Eigen::Index>(modes[bit].direction);
    const double omega = static_cast<double>(modes[bit].k) * std::numbers::pi / widths[direction];
    weight.row(row) = omega * directions.row(direction);
    phase[row] = -omega * least[direction];
  }
  Network network = affine_network(weight, moments.mean);
  Layer& layer = network.layers.front();
  for (std::size_t bit = 0; bit < task.bits; ++bit) {
    layer.bias[bit] += static_cast<float>(phase[static_cast<Eigen::Index>(bit)]);
  }
  layer.activation = Activation::cosine;
  return {std::move(network)};
}

}  // namespace

std::vector<SpectralMode> smoothest_modes(const VectorXd& widths, std::size_t count) {
  // The next mode of each direction; frequencies order modes as eigenvalues, which are their squares, do.
  using Next = std::tuple<double, std::size_t, std::size_t>;  // frequency k / width, direction, k
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  for (Eigen::Index i = 0; i < widths.size(); ++i) next.emplace(1 / widths[i], static_cast<std::size_t>(i), 1);
  std::vector<SpectralMode> modes;
  while (modes.size() < count) {
    const auto [frequency, direction, k] = next.top();
    next.pop();
    modes.push_back({direction, k});
    next.emplace(static_cast<double>(k + 1) / widths[static_cast<Eigen::Index>(direction)], direction, k + 1);
  }
  return modes;
}

Method sh_method() {
  return make_method<ShOptions>({.name = "sh",
                                 .summary = "smooth waves along the principal directions, more along wide ones",
                                 .reference = "Weiss, Torralba and Fergus, Spectral hashing, NIPS 2008",
                                 .train = train_sh});
}

}  // namespace bdnn
