#include "methods/ksh/ksh.h"

#include "base/error.h"
#include "learn/affine.h"
#include "learn/anchors.h"
#include "learn/class_samples.h"
#include "learn/kernel_features.h"
#include "learn/moments.h"
#include "learn/stage_name.h"
#include "linalg/decompose.h"
#include "linalg/product.h"
#include "methods/ksh/bit_search.h"
#include "methods/ksh/projected_residual.h"

namespace bdnn {
namespace {

// Features that have been centred, turned to their principal axes and scaled to variance 1: z = W (phi - mean). The
// generalised eigenproblem of the paper is a plain one for them, and gradient steps are short in no direction.
struct WhitenedFeatures {
  MatrixXf z;          // anchors x m
  MatrixXd whitening;  // W
  VectorXd mean;       // of phi
};

WhitenedFeatures whitened_features(const AnchorNetwork& anchors, const Vectors& x, double ridge, Threads& threads) {
  const AnchorKernel kernel(anchors);
  const std::size_t n = kernel.anchors();
  const auto columns = [](const Range& range) { return Eigen::seqN(range.first, range.count); };
  WhitenedFeatures features{MatrixXf(n, x.size()), {}, VectorXd::Zero(static_cast<Eigen::Index>(n))};
  MatrixXf& z = features.z;
  for_each_kernel_tile(kernel, x, threads, [&](std::size_t first, const auto& phi) {
    z.middleCols(static_cast<Eigen::Index>(first), phi.cols()) = phi;
  });
  sum_over_samples(threads, x.size(), features.mean, features.mean, [&](const Range& range, VectorXd& sum) {
    for (const auto& phi : z(Eigen::all, columns(range)).colwise()) sum += phi.template cast<double>();
  });
  features.mean /= static_cast<double>(x.size());
  const VectorXf rounded_mean = features.mean.cast<float>();
  DoubleSum gram{MatrixXd::Zero(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n))};
  const MatrixXf zero = MatrixXf::Zero(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n));
  sum_over_samples(threads, x.size(), zero, gram, [&](const Range& range, MatrixXf& sum) {
    z(Eigen::all, columns(range)).colwise() -= rounded_mean;
    add_gram_lower(z.data() + range.first * n, n, n, range.count, sum.data(), n);
  });
  const Eigenpairs axes = top_eigenpairs(gram.value / static_cast<double>(x.size()), n);
  if (!(axes.values[0] > 0)) misuse("the Gaussians are the same for all samples; choose another width");
  // Rounding may leave variances below zero.
  const VectorXd scale = (axes.values.array().max(0) + ridge * axes.values[0]).rsqrt();
  features.whitening = scale.asDiagonal() * axes.vectors.transpose();
  const MatrixXf whitening = features.whitening.cast<float>();
  const auto packed = PackedMatrix<float>::from_columns(whitening.data(), n, n, n);
  threads.for_each(blocks_of(x.size()), [&](std::size_t block, int) {
    const Range range = block_range(block, x.size());
    const MatrixXf centred = z(Eigen::all, columns(range));
    multiply(packed, centred.data(), range.count, n, z.data() + range.first * n, n);
  });
  return features;
}

Trained train_ksh(const TrainingTask& task, const KshOptions& options) {
  mean_of(task.x, task.threads);  // reports numbers that are not finite, by their row in the whole data
  LabelledSamples samples = labelled_samples(task.x, task.labels, options.per_class, task.seed, "ksh");
  const std::size_t count = anchor_count(options.anchors, KshOptions().anchors, samples.x.size());
  AnchorNetwork function = sample_anchors(samples.x, count, options.width, task.seed, task.threads);
  const std::string stage = stage_name("bits", samples.x.size(), task.x.size());
  task.progress.update(stage, 0, task.bits);
  const WhitenedFeatures features = whitened_features(function, samples.x, options.ridge, task.threads);
  const MatrixXf& z = features.z;
  LabelResidual residual(std::move(samples.labels), task.bits);
  const BitSearch search(z, residual, task.threads);

  ProjectedResidual zrz(z, residual.labels(), task.bits, task.threads);
  MatrixXd weights(task.bits, z.rows());
  for (std::size_t bit = 0; bit < task.bits; ++bit) {
    VectorXd w = top_eigenpairs(zrz.value(), 1).vectors.col(0);
    VectorXf u = search.outputs(w);
    const double spread = static_cast<double>(u.norm()) / std::sqrt(static_cast<double>(u.size()));
    if (spread > 0) w /= spread;
    VectorXf b = signs_of(u);
    const VectorXd smooth = search.descend(w, options.steps);
    const VectorXf smooth_b = signs_of(search.outputs(smooth));
    if (search.quadratic(smooth_b) > search.quadratic(b)) {
      w = smooth;
      b = smooth_b;
    }
    residual.subtract(b, task.threads);
    zrz.subtract(search.sums(b));
    weights.row(static_cast<Eigen::Index>(bit)) = w.transpose();
    task.progress.update(stage, bit + 1, task.bits);
    task.progress.round({{"bit", static_cast<double>(bit + 1)}, {"objective", residual.objective()}});
  }
  function.network = affine_network(small_product(weights, features.whitening), features.mean);
  return {std::move(function)};
}

KshOptions ksh_paper_profile() {
  KshOptions options;
  options.per_class = 3000;
  options.steps = 500;
  return options;
}

}  // namespace

Method ksh_method() {
  return make_method<KshOptions>(
      {.name = "ksh",
       .summary = "kernels at anchors; bit by bit, inner products of codes agree with pairs of labels",
       .reference = "Liu, Wang, Ji, Jiang and Chang, Supervised hashing with kernels, CVPR 2012",
       .options = [](KshOptions& o) -> OptionList {
         return {
             integer_option("anchors", "random samples at which Gaussians are centred", o.anchors, 1, 20000),
             real_option("width", "width of the Gaussians: exp(-d^2 / (width * mean squared distance))", o.width, 1e-6,
                         1e6),
             integer_option("per_class", "random samples of each class to learn from; 0: all", o.per_class, 0, 1 << 30),
             integer_option("steps", "gradient steps per bit, at most", o.steps, 0, 100000),
             real_option("ridge", "added to the variances of the features, as a share of the largest", o.ridge, 1e-12,
                         1)};
       },
       .profiles =
           {{"paper",
             "3,000 samples of each class, as in the BDNN paper's comparison; as many steps as the authors' program",
             ksh_paper_profile()}},
       .supervised = true,
       .train = train_ksh});
}

}  // namespace bdnn
