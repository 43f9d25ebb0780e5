#include "base/checksum.h"
#include "base/error.h"
#include "bdnn/codes.h"
#include "bdnn/methods.h"
#include "bdnn/version.h"
#include "learn/decoder.h"
#include "methods/itq/itq.h"
#include "methods/lsh/lsh.h"
#include "methods/method.h"
#include "methods/pca/pca.h"
#include "methods/sh_bdnn/sh_bdnn.h"
#include "methods/uh_bdnn/uh_bdnn.h"

namespace bdnn {
namespace {

const std::vector<Method>& registry() {
  static const std::vector<Method> all = {
      lsh_method(), pca_method(), pca_rr_method(), itq_method(), uh_bdnn_method(), sh_bdnn_method(),
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

// All that a model depends on: what a checkpoint must agree with to be gone on from.
std::string identity_of(const TrainingTask& task, const TrainOptions& options, const OptionValues& values) {
  Checksum data;
  data.add({task.x.data(), task.x.size() * task.x.shape().bytes_per_vector()});
  data.add(std::as_bytes(task.labels));
  std::string identity =
      fmt::format("{}, {} bits, seed {}, {} vectors of dimension {} with checksum {:016x}", options.method, task.bits,
                  task.seed, task.x.size(), task.x.dimension(), data.value());
  for (const auto& [name, value] : values) identity += fmt::format(", {}={}", name, value);
  return identity;
}

// For methods that have none of their own: the best for the codes that the model gives its training vectors.
Decoder fitted_decoder(const Model& model, const Vectors& vectors, Threads& threads) {
  constexpr double kDecay = 1e-4;  // against bits that are nearly constant or nearly equal
  const Scaling none{VectorXd::Zero(static_cast<Eigen::Index>(vectors.dimension())), 1};
  return decoder_layer(fit_decoder(HashEncoder(model.function), vectors, kDecay, threads), none);
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
  if (method.info.supervised && options.labels.empty()) misuse("{} learns from labels; give them", options.method);
  if (!options.labels.empty() && options.labels.size() != vectors.size()) {
    misuse("there are {} labels for {} vectors; there is to be one for each", options.labels.size(), vectors.size());
  }
  if (options.resume && options.checkpoint.empty()) misuse("to resume, say where the checkpoint is");
  Threads threads(options.threads);
  Model model;
  model.record.options = method.resolve(options.profile, options.set);
  TrainingTask task{vectors,
                    method.info.supervised ? std::span(options.labels) : std::span<const std::int64_t>(),
                    options.bits,
                    options.seed,
                    {method.info.resumable ? options.checkpoint : "", "", options.resume},
                    threads,
                    progress};
  if (!task.checkpoint.path.empty()) task.checkpoint.identity = identity_of(task, options, model.record.options);
  Trained trained = method.train(task, model.record.options);
  model.function = std::move(trained.function);
  if (options.decoder) {
    model.decoder = std::move(trained.decoder);
    if (!model.decoder) model.decoder = fitted_decoder(model, vectors, threads);
  }
  model.record.method = options.method;
  model.record.seed = options.seed;
  model.record.data = options.data_name;
  model.record.samples = vectors.size();
  model.record.program = std::string("bdnn ") + version();
  model.record.outcome = std::move(trained.outcome);
  return model;
}

}  // namespace bdnn
