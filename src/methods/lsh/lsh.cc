#include "methods/lsh/lsh.h"

#include "base/random.h"
#include "learn/affine.h"
#include "learn/moments.h"

namespace bdnn {
namespace {

Trained train_lsh(const TrainingTask& task, const LshOptions& options) {
  Random random(task.seed);
  MatrixXd w(task.bits, task.x.dimension());
  // Row by row, so that the first bits are the same for every length.
  for (auto row : w.rowwise()) {
    for (double& entry : row) entry = random.normal();
  }
  VectorXd mean = mean_of(task.x, task.threads);  // also reports numbers that are not finite
  if (!options.centre) mean.setZero();
  return {affine_network(w, mean)};
}

}  // namespace

Method lsh_method() {
  return make_method<LshOptions>(
      {.name = "lsh",
       .summary = "random hyperplanes through the data's mean",
       .reference = "Charikar, Similarity estimation techniques from rounding algorithms, STOC 2002",
       .options = [](LshOptions& o) -> OptionList {
         return {flag_option("centre", "hyperplanes through the data's mean; false: through the origin", o.centre)};
       },
       .train = train_lsh});
}

}  // namespace bdnn
