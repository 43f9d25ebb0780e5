#include "methods/sklsh/sklsh.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/random.h"
#include "bdnn/ground_truth.h"
#include "data/format.h"
#include "learn/affine.h"
#include "learn/moments.h"
#include "learn/stage_name.h"

namespace bdnn {
namespace {

double distance(const Vectors& x, std::size_t i, std::size_t j) {
  std::vector<float> scratch(2 * x.dimension());
  const float* a = x.floats(i, 1, scratch.data());
  const float* b = x.floats(j, 1, scratch.data() + x.dimension());
  double sum = 0;
  for (std::size_t k = 0; k < x.dimension(); ++k) {
    const double difference = static_cast<double>(a[k]) - static_cast<double>(b[k]);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

// Progress of a search for neighbours, under the name of its purpose.
class SearchProgress final : public Progress {
 public:
  SearchProgress(Progress& progress, std::string stage) : progress_(progress), stage_(std::move(stage)) {}
  void update(std::string_view, std::size_t done, std::size_t total) override { progress_.update(stage_, done, total); }
  void poll() override { progress_.poll(); }

 private:
  Progress& progress_;
  std::string stage_;
};

// The mean distance of random samples to their k-th nearest neighbour.
double mean_neighbour_distance(const TrainingTask& task, const SklshOptions& options, Random& random) {
  const Vectors& x = task.x;
  if (x.size() < 2) misuse("a single vector has no distances to learn from; give more");
  const std::size_t count =
      options.sampled == 0 ? x.size() : std::min(x.size(), static_cast<std::size_t>(options.sampled));
  const auto rows = random_rows(x.size(), count, random);
  GroundTruthOptions search;
  search.k = std::min(x.size() - 1, static_cast<std::size_t>(options.neighbour));
  search.self.assign(rows.begin(), rows.end());
  search.threads = task.threads.count();
  SearchProgress progress(task.progress, stage_name("bandwidth", count, x.size()));
  const GroundTruth nearest = exact_neighbours(x, gather(x, rows), search, progress);
  double sum = 0;
  for (std::size_t q = 0; q < count; ++q) sum += distance(x, rows[q], static_cast<std::size_t>(nearest.of(q).back()));
  const double mean = sum / static_cast<double>(count);
  if (!std::isfinite(mean)) failure("the training data is so large that its squares overflow; scale it down");
  if (!(mean > 0)) {
    misuse("the vectors equal their {} nearest neighbours; there is no distance to learn from", search.k);
  }
  return mean;
}

Trained train_sklsh(const TrainingTask& task, const SklshOptions& options) {
  const VectorXd mean = mean_of(task.x, task.threads);  // also reports numbers that are not finite
  Random random(task.seed);
  const double sigma = options.width * mean_neighbour_distance(task, options, random);
  MatrixXd w(task.bits, task.x.dimension());
  std::vector<float> phases(task.bits);
  Layer thresholds{task.bits, task.bits, std::vector<float>(task.bits * task.bits), std::vector<float>(task.bits)};
  // Bit by bit, so that the first bits are the same for every length.
  for (std::size_t bit = 0; bit < task.bits; ++bit) {
    for (double& entry : w.row(static_cast<Eigen::Index>(bit))) entry = random.normal() / sigma;
    phases[bit] = static_cast<float>(2 * std::numbers::pi * random.uniform());
    thresholds.bias[bit] = static_cast<float>(2 * random.uniform() - 1);
    thresholds.weight[bit * task.bits + bit] = 1;
  }
  Network network = affine_network(w, mean);
  Layer& waves = network.layers.front();
  for (std::size_t bit = 0; bit < task.bits; ++bit) waves.bias[bit] += phases[bit];
  waves.activation = Activation::cosine;
  network.layers.push_back(std::move(thresholds));
  return {std::move(network)};
}

}  // namespace

Method sklsh_method() {
  return make_method<SklshOptions>(
      {.name = "sklsh",
       .summary = "random waves of a bandwidth from the data, cut at random heights",
       .reference = "Raginsky and Lazebnik, Locality-sensitive binary codes from shift-invariant kernels, NIPS 2009",
       .options = [](SklshOptions& o) -> OptionList {
         return {
             integer_option("neighbour", "rank of the nearest neighbour whose mean distance is the bandwidth",
                            o.neighbour, 1, 1000000),
             integer_option("sampled", "random vectors whose neighbours among all vectors give the bandwidth; 0: all",
                            o.sampled, 0, 1000000000),
             real_option("width", "bandwidth in units of that distance", o.width, 1e-3, 1e3)};
       },
       .train = train_sklsh});
}

}  // namespace bdnn
