#include "methods/itq_cca/itq_cca.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "learn/affine.h"
#include "learn/class_moments.h"
#include "learn/itq_rotation.h"
#include "linalg/decompose.h"

namespace bdnn {
namespace {

// Rows of length D: w scaled by rho, the most correlated first.
MatrixXd correlated_directions(const TrainingTask& task, const Moments& moments, const ClassLabels& labels,
                               const ClassMeans& means, double regularisation) {
  MatrixXd deviations = means.of_class.colwise() - means.of_all;
  double labelled = 0;
  for (const std::size_t size : labels.sizes) labelled += static_cast<double>(size);
  for (std::size_t c = 0; c < labels.classes; ++c) {
    deviations.col(static_cast<Eigen::Index>(c)) *= std::sqrt(static_cast<double>(labels.sizes[c]) / labelled);
  }
  MatrixXd cxx = moments.covariance;
  cxx.diagonal().array() += regularisation * cxx.trace() / static_cast<double>(cxx.rows());
  const std::size_t most = std::min({task.bits, labels.classes - 1, task.x.dimension()});
  const auto pairs = top_eigenpairs(small_gram(deviations.transpose()), std::move(cxx), most);
  if (!pairs) misuse("the covariance of the data is singular; raise regularisation above {}", regularisation);
  // Directions without correlation are rounding errors of the means.
  constexpr double kNoise = 1e-10;
  const Eigen::Index found = (pairs->values.array() > kNoise).count();
  if (found == 0) misuse("all classes have the same mean; no direction correlates with the labels");
  const VectorXd rho = pairs->values.head(found).cwiseSqrt();
  return (pairs->vectors.leftCols(found) * rho.asDiagonal()).transpose();
}

Trained train_itq_cca(const TrainingTask& task, const ItqCcaOptions& options) {
  const Moments moments = moments_of(task.x, task.threads, task.progress);
  const ClassLabels labels = number_classes(task.labels, "itq-cca");
  const ClassMeans means = class_means(task.x, labels, task.threads);
  const MatrixXd directions = correlated_directions(task, moments, labels, means, options.regularisation);
  const VectorXd centre = options.centre == CcaCentre::data ? moments.mean : VectorXd(means.of_class.rowwise().mean());
  const MatrixXf v = outputs_of(affine_network(directions, centre), task.x, task.threads);
  const MatrixXd r = itq_rotation(v, task.bits, options.rotations, task.seed, task.threads, task.progress);
  return {affine_network(small_product(r, directions), centre)};
}

}  // namespace

Method itq_cca_method() {
  return make_method<ItqCcaOptions>(
      {.name = "itq-cca",
       .summary = "directions that correlate with labels, rotated to lie close to binary",
       .reference =
           "Gong and Lazebnik, Iterative quantization: a Procrustean approach to learning binary codes, CVPR 2011",
       .options = [](ItqCcaOptions& o) -> OptionList {
         return {word_option("centre", "point mapped to zero: the mean of the class means, or of the data", o.centre,
                             {"classes", "data"}),
                 real_option("regularisation", "added to the variances, as a share of their mean", o.regularisation, 0,
                             1e6),
                 integer_option("rotations", "alternations of codes and rotation", o.rotations, 0, 100000)};
       },
       .profiles = {{"paper", "the authors' centre, the mean of the data", {.centre = CcaCentre::data}}},
       .supervised = true,
       .train = train_itq_cca});
}

}  // namespace bdnn
