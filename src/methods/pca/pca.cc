#include "methods/pca/pca.h"

#include "base/random.h"
#include "learn/affine.h"
#include "linalg/decompose.h"

namespace bdnn {
namespace {

struct PcaOptions {};

Trained train_pca(const TrainingTask& task, const PcaOptions&) {
  const auto pca = principal_directions(task.x, task.bits, task.threads, task.progress);
  return {affine_network(pca.directions, pca.mean)};
}

Trained train_pca_rr(const TrainingTask& task, const PcaOptions&) {
  const auto pca = principal_directions(task.x, task.bits, task.threads, task.progress);
  Random random(task.seed);
  return {affine_network(small_product(random_rotation(task.bits, random), pca.directions), pca.mean)};
}

}  // namespace

Method pca_method() {
  return make_method<PcaOptions>(
      {.name = "pca",
       .summary = "signs of the leading principal components",
       .reference = "Wang, Kumar and Chang, Semi-supervised hashing for scalable image retrieval, CVPR 2010",
       .train = train_pca});
}

Method pca_rr_method() {
  return make_method<PcaOptions>({.name = "pca-rr",
                                  .summary = "signs of randomly rotated principal components",
                                  .reference = "Gong and Lazebnik, Iterative quantization, CVPR 2011",
                                  .train = train_pca_rr});
}

}  // namespace bdnn
