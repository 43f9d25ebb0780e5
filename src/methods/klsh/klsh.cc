#include "methods/klsh/klsh.h"

#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "learn/affine.h"
#include "learn/anchors.h"
#include "linalg/decompose.h"

namespace bdnn {
namespace {

// The Gaussians of all pairs of anchors.
MatrixXd kernel_matrix(const AnchorNetwork& function) {
  MatrixXd anchors = view(function.anchors.data(), function.dimension, function.anchor_count()).cast<double>();
  anchors.colwise() -= anchors.rowwise().mean().eval();  // so that little cancels
  const MatrixXd gram = small_gram(anchors);
  const VectorXd norms = gram.diagonal();
  const auto gamma = static_cast<double>(function.gamma);
  MatrixXd kernel = 2 * gram;
  kernel.colwise() -= norms;
  kernel.rowwise() -= norms.transpose();
  return (gamma * kernel.array().min(0)).exp().matrix();
}

// As if the mean of the anchors, in the kernel's space, were the origin.
MatrixXd centred(MatrixXd kernel) {
  const VectorXd means = kernel.rowwise().mean();
  kernel.colwise() -= means;
  kernel.rowwise() -= means.transpose();
  return (kernel.array() + means.mean()).matrix();
}

// A^(-1/2), on the directions in which A is not zero.
MatrixXd inverse_root(const MatrixXd& a) {
  const Eigenpairs pairs = top_eigenpairs(a, static_cast<std::size_t>(a.rows()));
  // Smaller ones add less to h than the rounding of Gaussians to float does.
  constexpr double kNegligible = 1e-8;
  const Eigen::Index kept = (pairs.values.array() > kNegligible * pairs.values[0]).count();
  const MatrixXd vectors = pairs.vectors.leftCols(kept);
  const VectorXd roots = pairs.values.head(kept).cwiseSqrt().cwiseInverse();
  return small_product(vectors * roots.asDiagonal(), vectors.transpose());
}

Trained train_klsh(const TrainingTask& task, const KlshOptions& options) {
  const auto subset = static_cast<std::size_t>(options.subset);
  if (options.subset >= options.anchors) {
    misuse("each bit takes {} anchors out of {}; ask for a smaller subset or for more anchors", options.subset,
           options.anchors);
  }
  AnchorNetwork function =
      sample_anchors(task.x, static_cast<std::size_t>(options.anchors), options.width, task.seed, task.threads);
  const MatrixXd kernel = kernel_matrix(function);
  if (!(kernel.minCoeff() < 1)) {
    misuse("the {} vectors drawn as anchors are all the same; ask for more anchors or remove duplicates",
           options.anchors);
  }
  const MatrixXd weights = klsh_weights(kernel, task.bits, subset, task.seed);
  // The mean of the anchors in the kernel's space lies on every hyperplane.
  function.network = affine_network(weights, kernel.rowwise().mean());
  return {std::move(function)};
}

}  // namespace

MatrixXd klsh_weights(const MatrixXd& kernel, std::size_t bits, std::size_t subset, std::uint64_t seed) {
  const auto anchors = static_cast<std::size_t>(kernel.rows());
  MatrixXd drawn = MatrixXd::Zero(static_cast<Eigen::Index>(bits), kernel.rows());
  constexpr std::uint64_t kNotThatOfTheAnchors = 0x3c6ef372fe94f82b;
  Random random(seed ^ kNotThatOfTheAnchors);
  // Bit by bit, so that the first bits are the same for every length.
  for (auto row : drawn.rowwise()) {
    for (const auto anchor : random_rows(anchors, subset, random)) row[anchor] = 1;
  }
  const double scale = std::sqrt(static_cast<double>(anchors - 1) / static_cast<double>(subset));
  return scale * small_product(drawn, inverse_root(centred(kernel)));
}

Method klsh_method() {
  return make_method<KlshOptions>(
      {.name = "klsh",
       .summary = "random hyperplanes in the space of a Gaussian kernel",
       .reference = "Kulis and Grauman, Kernelized locality-sensitive hashing for scalable image search, ICCV 2009",
       .options = [](KlshOptions& o) -> OptionList {
         return {integer_option("anchors", "samples that the kernel compares with", o.anchors, 2, 10000),
                 integer_option("subset", "anchors whose sum is the normal of a hyperplane", o.subset, 1, 9999),
                 real_option("width", "squared width of the kernel, in mean squared distances to the anchors", o.width,
                             1e-3, 1e3)};
       },
       .train = train_klsh});
}

}  // namespace bdnn
