#include "methods/sph/sph.h"

#include <fmt/format.h>

#include "base/random.h"
#include "learn/moments.h"
#include "learn/order_statistic.h"
#include "methods/sph/spheres.h"
#include "model/hash_function.h"

namespace bdnn {
namespace {

// Spheres with pivots this far out are practically hyperplanes; beyond, floats cannot tell distances apart.
constexpr double kFarthest = 1000;

// `count` random samples, in their order.
Vectors draw(const Vectors& x, std::size_t count, Random& random) {
  const std::size_t dimension = x.dimension();
  std::vector<float> values(count * dimension);
  std::vector<float> scratch(dimension);
  std::size_t taken = 0;
  for (std::size_t i = 0; taken < count; ++i) {
    if (random.below(x.size() - i) >= count - taken) continue;
    std::copy_n(x.floats(i, 1, scratch.data()), dimension, values.data() + taken * dimension);
    ++taken;
  }
  return {dimension, count, std::move(values)};
}

// Means of random samples, as rows, seen from `centre`.
MatrixXd random_pivots(const Vectors& x, const VectorXd& centre, std::size_t bits, int per_pivot, Random& random) {
  const std::size_t dimension = x.dimension();
  MatrixXd pivots = MatrixXd::Zero(static_cast<Eigen::Index>(bits), static_cast<Eigen::Index>(dimension));
  std::vector<float> scratch(dimension);
  for (auto pivot : pivots.rowwise()) {
    for (int i = 0; i < per_pivot; ++i) {
      const float* sample = x.floats(random.below(x.size()), 1, scratch.data());
      pivot += (view(sample, dimension, 1).col(0).cast<double>() - centre).transpose();
    }
    pivot /= per_pivot;
  }
  return pivots;
}

// -||x - p_k|| + t_k, with all t_k = 0.
AnchorNetwork points(const MatrixXd& pivots, const VectorXd& centre) {
  const auto bits = static_cast<std::size_t>(pivots.rows());
  AnchorNetwork function;
  function.kernel = AnchorNetwork::Kernel::distance;
  function.dimension = static_cast<std::size_t>(pivots.cols());
  for (const auto& pivot : pivots.rowwise()) {
    for (Eigen::Index d = 0; d < pivots.cols(); ++d) {
      function.anchors.push_back(static_cast<float>(pivot[d] + centre[d]));
    }
  }
  Layer layer{bits, bits, std::vector<float>(bits * bits), std::vector<float>(bits)};
  for (std::size_t k = 0; k < bits; ++k) layer.weight[k * bits + k] = -1;
  function.network.layers.push_back(std::move(layer));
  return function;
}

// Median distances as the encoder itself computes them, rounding included.
void set_radii(AnchorNetwork& function, const Vectors& x, Threads& threads) {
  const HashEncoder encoder(function);
  const std::size_t bits = encoder.bits();
  std::vector<float> outputs(bits * x.size());
  outputs_of(encoder, x, threads, outputs.data());
  auto& radii = function.network.layers.front().bias;
  threads.for_each(bits, [&](std::size_t k, int) {
    std::vector<float> distances(x.size());
    std::vector<float> scratch;
    for (std::size_t i = 0; i < x.size(); ++i) distances[i] = -outputs[i * bits + k];
    radii[k] = nth_smallest(distances.data(), x.size(), (x.size() - 1) / 2, scratch);
  });
}

Trained train_sph(const TrainingTask& task, const SphOptions& options) {
  Random random(task.seed);
  const VectorXd centre = mean_of(task.x, task.threads);  // also reports numbers that are not finite
  const auto most = static_cast<std::size_t>(options.samples);
  const bool sampled = most > 0 && most < task.x.size();
  const Vectors x = sampled ? draw(task.x, most, random) : task.x;
  const std::string stage =
      sampled ? fmt::format("moves of spheres, by {} of {} samples", most, task.x.size()) : "moves of spheres";

  Spheres spheres(x, centre, random_pivots(x, centre, task.bits, options.pivot_samples, random), task.threads);
  OverlapError error = overlap_error(spheres.overlaps(), x.size());
  int moves = 0;
  const auto settled = [&] { return error.mean <= options.overlap_error && error.deviation <= options.overlap_spread; };
  while (!settled() && moves < options.iterations && spheres.reach() < kFarthest) {
    spheres.move(step_by_forces(spheres.overlaps(), x.size()));
    error = overlap_error(spheres.overlaps(), x.size());
    ++moves;
    task.progress.update(stage, static_cast<std::size_t>(moves), static_cast<std::size_t>(options.iterations));
    task.progress.round({{"iteration", moves}, {"overlap_error", error.mean}, {"overlap_spread", error.deviation}});
  }
  AnchorNetwork function = points(spheres.pivots(), centre);
  set_radii(function, x, task.threads);
  Trained trained{std::move(function)};
  trained.outcome = fmt::format(
      "{} after {} moves: pairs of spheres share a quarter of the samples within {:.1f} % on average, "
      "standard deviation {:.1f} %",
      settled() ? "settled" : "stopped", moves, 100 * error.mean, 100 * error.deviation);
  return trained;
}

}  // namespace

Method sph_method() {
  return make_method<SphOptions>(
      {.name = "sph",
       .summary = "spheres that each hold half of the data, and share a quarter in pairs",
       .reference = "Heo, Lee, He, Chang and Yoon, Spherical hashing, CVPR 2012",
       .options = [](SphOptions& o) -> OptionList {
         return {integer_option("pivot_samples", "each pivot starts as the mean of this many random samples",
                                o.pivot_samples, 1, 1000000),
                 real_option("overlap_error",
                             "stop when overlaps differ from a quarter by at most this share of it on average",
                             o.overlap_error, 0, 1),
                 real_option("overlap_spread", "and their standard deviation is at most this share of a quarter",
                             o.overlap_spread, 0, 1),
                 integer_option("iterations", "moves of the spheres, at most", o.iterations, 0, 100000),
                 integer_option("samples", "random samples to place the spheres by; 0: all", o.samples, 0, 2000000000)};
       },
       .profiles = {{"paper", "a sample of 10,000, as in the authors' experiments", {.samples = 10000}}},
       .train = train_sph});
}

}  // namespace bdnn
