#include "methods/itq/itq.h"

#include "learn/affine.h"
#include "learn/itq_rotation.h"

namespace bdnn {
namespace {

Trained train_itq(const TrainingTask& task, const ItqOptions& options) {
  const auto pca = principal_directions(task.x, task.bits, task.threads, task.progress);
  const MatrixXf v = outputs_of(affine_network(pca.directions, pca.mean), task.x, task.threads);
  const MatrixXd r = itq_rotation(v, options.rotations, task.seed, task.threads, task.progress);
  return {affine_network(r * pca.directions, pca.mean)};
}

}  // namespace

Method itq_method() {
  return make_method<ItqOptions>(
      {.name = "itq",
       .summary = "principal components, rotated to lie close to binary",
       .reference =
           "Gong and Lazebnik, Iterative quantization: a Procrustean approach to learning binary codes, CVPR 2011",
       .options = {integer_option("rotations", "alternations of codes and rotation", &ItqOptions::rotations, 0,
                                  100000)},
       .train = train_itq});
}

}  // namespace bdnn
