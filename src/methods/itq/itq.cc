#include "methods/itq/itq.h"

#include "learn/itq_projection.h"
#include "linalg/decompose.h"

namespace bdnn {
namespace {

Trained train_itq(const TrainingTask& task, const ItqOptions& options) {
  const Moments moments = moments_of(task.x, task.threads, task.progress);
  const ItqProjection itq(task.x, moments, task.bits, task.threads);
  const MatrixXd r = itq.rotation(options.rotations, task.seed, task.progress);
  return {affine_network(small_product(r, itq.directions()), moments.mean)};
}

}  // namespace

Method itq_method() {
  return make_method<ItqOptions>(
      {.name = "itq",
       .summary = "principal components, rotated to lie close to binary",
       .reference =
           "Gong and Lazebnik, Iterative quantization: a Procrustean approach to learning binary codes, CVPR 2011",
       .options = [](ItqOptions& o) -> OptionList {
         return {integer_option("rotations", "alternations of codes and rotation", o.rotations, 0, 100000)};
       },
       .train = train_itq});
}

}  // namespace bdnn
