#include "methods/ba/ba.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "learn/itq_projection.h"
#include "linalg/decompose.h"
#include "methods/ba/binary_autoencoder.h"

namespace bdnn {
namespace {

// The projection, L x D, whose signs are the first codes.
MatrixXd first_projection(const TrainingTask& task, const Moments& moments, BaOptions::Start start) {
  if (start == BaOptions::Start::pca) return principal_directions(task.x, moments, task.bits, task.threads).directions;
  constexpr int kRotations = 50;
  const ItqProjection itq(task.x, moments, task.bits, task.threads);
  return small_product(itq.rotation(kRotations, task.seed, task.progress), itq.directions());
}

Trained train_ba(const TrainingTask& task, const BaOptions& options) {
  if (options.start == BaOptions::Start::pca) check_directions(task.x, task.bits);
  const Moments moments = moments_of(task.x, task.threads, task.progress);
  const MatrixXd projection = first_projection(task, moments, options.start);
  const auto bits = static_cast<double>(task.bits);
  // Scales to a variance of 1 per bit, so that mu and C mean the same for any data.
  const Scaling scaling{moments.mean, std::sqrt(bits / moments.covariance.trace())};
  std::vector<std::uint32_t> rows(task.x.size());
  std::iota(rows.begin(), rows.end(), 0U);
  const TrainingSet set(task.x, std::move(rows), scaling);
  BinaryAutoencoder autoencoder(
      set, moments, {projection.transpose(), VectorXd::Zero(projection.rows())},
      {.svm = {.c = options.c, .newton_steps = options.newton_steps, .tolerance = 1e-4, .cg_steps = options.cg_steps},
       .enumerate = static_cast<std::size_t>(options.enumerate),
       .local_search = options.local_search},
      task.threads);
  double mu = options.mu;
  std::string outcome;
  for (int iteration = 0; iteration < options.iterations; ++iteration, mu *= options.growth) {
    task.progress.update("iterations", static_cast<std::size_t>(iteration),
                         static_cast<std::size_t>(options.iterations));
    autoencoder.code_step(mu);
    autoencoder.decoder_step();
    const double differing = autoencoder.differing();
    const double error = autoencoder.reconstruction_error();
    LinearSvmSolver::Outcome svm;
    if (differing > 0) svm = autoencoder.hash_step();
    task.progress.round({{"iteration", iteration},
                         {"mu", mu},
                         {"objective", error + mu * differing},
                         {"reconstruction", error},
                         {"differing", differing / bits},
                         {"changed", autoencoder.changed() / bits},
                         {"newton_steps", svm.newton_steps},
                         {"passes", svm.passes}});
    outcome = fmt::format("{} iterations, codes and hash function differed in {:.2f}% of bits at last", iteration + 1,
                          100 * differing / bits);
    if (differing == 0) break;
  }
  const LinearSvms& hash = autoencoder.hash_function();
  Network network = affine_network(hash.w.transpose() * scaling.factor, moments.mean);
  for (std::size_t k = 0; k < task.bits; ++k) {
    network.layers[0].bias[k] += static_cast<float>(hash.b[static_cast<Eigen::Index>(k)]);
  }
  return {.function = std::move(network), .outcome = std::move(outcome)};
}

}  // namespace

Method ba_method() {
  return make_method<BaOptions>(
      {.name = "ba",
       .summary = "binary autoencoder: codes that rebuild the data, by auxiliary coordinates",
       .reference = "Carreira-Perpinan and Raziperchikolaei, Hashing with binary autoencoders, CVPR 2015",
       .options = [](BaOptions& o) -> OptionList {
         return {
             word_option("start", "where the first codes come from", o.start, {"pca", "itq"}),
             real_option("mu", "first weight of the distance from codes to hash function; 1: the variance per bit",
                         o.mu, 0, 1e6),
             real_option("growth", "factor by which mu grows from one iteration to the next", o.growth, 1, 100),
             integer_option("iterations",
                            "iterations at most; stops early once the hash function gives every sample its code",
                            o.iterations, 0, 100000),
             real_option("c", "weight of the SVMs' loss against their weights", o.c, 1e-6, 1e9),
             integer_option("newton_steps", "Newton steps of the SVMs per iteration, at most", o.newton_steps, 1, 1000),
             integer_option("cg_steps", "conjugate gradient steps per Newton step, at most", o.cg_steps, 1, 1000),
             integer_option("enumerate", "number of bits up to which the Z step tries all codes", o.enumerate, 0, 16),
             integer_option("local_search", "rounds of local search in the Z step, for longer codes", o.local_search, 0,
                            10000)};
       },
       .profiles = {{.name = "paper",
                     .summary = "first codes from PCA, mu grows slowly, SVMs near their optimum",
                     .options = {.start = BaOptions::Start::pca,
                                 .growth = 1.2,
                                 .iterations = 50,
                                 .newton_steps = 3,
                                 .cg_steps = 50}}},
       .train = train_ba});
}

}  // namespace bdnn
