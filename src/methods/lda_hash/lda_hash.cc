#include "methods/lda_hash/lda_hash.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "learn/affine.h"
#include "learn/class_moments.h"
#include "learn/moments.h"
#include "linalg/decompose.h"
#include "methods/lda_hash/pair_threshold.h"

namespace bdnn {
namespace {

// Rows of length D, the best first; at most `most`, without those that `dif` rejects.
MatrixXd directions_of(const PairCovariances& pairs, const LdaHashOptions& options, std::size_t most) {
  if (options.projection == PairProjection::dif) {
    const Eigenpairs top = top_eigenpairs(pairs.different - options.alpha * pairs.same, most);
    const Eigen::Index useful = (top.values.array() > 0).count();
    if (useful == 0) {
      misuse("in no direction do different classes differ {} times as much as samples of one class; lower alpha",
             options.alpha);
    }
    return top.vectors.leftCols(useful).transpose();
  }
  MatrixXd same = pairs.same;
  same.diagonal().array() += options.regularisation * same.trace() / static_cast<double>(same.rows());
  const auto top = top_eigenpairs(pairs.different, std::move(same), most);
  if (!top) {
    misuse("the differences within classes do not vary in every direction; raise regularisation above {}",
           options.regularisation);
  }
  return top->vectors.transpose();
}

// Random rotations of the directions below them, until there are enough rows.
MatrixXd with_rotations(const MatrixXd& directions, std::size_t bits, std::uint64_t seed) {
  const Eigen::Index r = directions.rows();
  MatrixXd rows(static_cast<Eigen::Index>(bits), directions.cols());
  Random random(seed);
  for (Eigen::Index first = 0; first < rows.rows(); first += r) {
    const Eigen::Index count = std::min(r, rows.rows() - first);
    rows.middleRows(first, count) =
        first == 0 ? MatrixXd(directions.topRows(count))
                   : small_product(random_rotation(static_cast<std::size_t>(r), random), directions).topRows(count);
  }
  return rows;
}

Trained train_lda_hash(const TrainingTask& task, const LdaHashOptions& options) {
  task.progress.update("covariances of pairs", 0, 2);
  mean_of(task.x, task.threads);  // reports numbers that are not finite
  const ClassLabels labels = number_classes(task.labels, "lda-hash");
  const ClassMeans means = class_means(task.x, labels, task.threads);
  task.progress.update("covariances of pairs", 1, 2);
  const PairCovariances pairs = pair_covariances(task.x, labels, means, task.threads);
  task.progress.update("covariances of pairs", 2, 2);
  std::size_t most = std::min(task.bits, task.x.dimension());
  if (options.more == MoreBits::rotations) most = std::min(most, labels.classes - 1);
  const MatrixXd directions = with_rotations(directions_of(pairs, options, most), task.bits, task.seed);
  Network network = affine_network(directions, means.of_all);
  const MatrixXf v = outputs_of(network, task.x, task.threads);
  std::vector<float>& bias = network.layers.front().bias;
  task.threads.for_each(task.bits, [&](std::size_t bit, int) {
    bias[bit] -= static_cast<float>(best_pair_threshold(v.data() + bit, task.bits, labels).threshold);
  });
  return {std::move(network)};
}

}  // namespace

Method lda_hash_method() {
  return make_method<LdaHashOptions>(
      {.name = "lda-hash",
       .summary = "discriminant directions; thresholds that separate pairs of one class from other pairs",
       .reference =
           "Strecha, Bronstein, Bronstein and Fua, LDAHash: improved matching with smaller descriptors, PAMI 2012",
       .options = [](LdaHashOptions& o) -> OptionList {
         return {word_option("projection", "ratio of the covariances of pairs, or their difference", o.projection,
                             {"lda", "dif"}),
                 real_option("alpha", "for dif: weight of pairs of the same class", o.alpha, 0, 1e6),
                 real_option("regularisation",
                             "for lda: added to the variances of pairs of the same class, as a share of their mean",
                             o.regularisation, 0, 1e6),
                 word_option("more",
                             "bits beyond classes - 1: random rotations of the directions, or eigenvectors that follow",
                             o.more, {"rotations", "eigenvectors"})};
       },
       .supervised = true,
       .train = train_lda_hash});
}

}  // namespace bdnn
