#include "base/error.h"
#include "bdnn/methods.h"
#include "bdnn/version.h"
#include "methods/itq/itq.h"
#include "methods/lsh/lsh.h"
#include "methods/method.h"
#include "methods/pca/pca.h"

namespace bdnn {
namespace {

const std::vector<Method>& registry() {
  static const std::vector<Method> all = {
      lsh_method(),
      pca_method(),
      pca_rr_method(),
      itq_method(),
  };
  return all;
}

const Method& method_named(const std::string& name) {
  std::string names;
  for (const auto& method : registry()) {
    if (method.info.name == name) return method;
    names += (names.empty() ? "" : ", ") + method.info.name;
  }
  misuse("there is no method '{}'; there are {}", name, names);
}

}  // namespace

std::vector<MethodInfo> methods() {
  std::vector<MethodInfo> infos;
  for (const auto& method : registry()) infos.push_back(method.info);
  return infos;
}

Model train(const Vectors& vectors, const TrainOptions& options) {
  Progress silent;
  return train(vectors, options, silent);
}

Model train(const Vectors& vectors, const TrainOptions& options, Progress& progress) {
  const Method& method = method_named(options.method);
  if (options.bits < 1 || options.bits > kMaxBits) {
    misuse("{} bits were asked for; 1 to {} are possible", options.bits, kMaxBits);
  }
  if (vectors.size() == 0 || vectors.dimension() == 0) misuse("there are no vectors to train on");
  Threads threads(options.threads);
  Model model;
  model.record.options = options.set;
  model.function = method.train({vectors, options.bits, options.seed, threads, progress}, model.record.options);
  model.record.method = options.method;
  model.record.seed = options.seed;
  model.record.data = options.data_name;
  model.record.samples = vectors.size();
  model.record.program = std::string("bdnn ") + version();
  return model;
}

}  // namespace bdnn
