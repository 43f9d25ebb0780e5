#include "base/checksum.h"
#include "base/error.h"
#include "bdnn/codes.h"
#include "bdnn/methods.h"
#include "bdnn/version.h"
#include "data/tiles.h"
#include "learn/decoder.h"
#include "learn/reduction.h"
#include "methods/ba/ba.h"
#include "methods/bre/bre.h"
#include "methods/classifier/classifier.h"
#include "methods/dh/dh.h"
#include "methods/fasthash/fasthash.h"
#include "methods/isohash/isohash.h"
#include "methods/itq/itq.h"
#include "methods/itq_cca/itq_cca.h"
#include "methods/klsh/klsh.h"
#include "methods/kmh/kmh.h"
#include "methods/ksh/ksh.h"
#include "methods/lda_hash/lda_hash.h"
#include "methods/lsh/lsh.h"
#include "methods/method.h"
#include "methods/pca/pca.h"
#include "methods/sdh/sdh.h"
#include "methods/semantic/semantic.h"
#include "methods/sh/sh.h"
#include "methods/sh_bdnn/sh_bdnn.h"
#include "methods/sklsh/sklsh.h"
#include "methods/sph/sph.h"
#include "methods/uh_bdnn/uh_bdnn.h"
#include "model/hash_function.h"

namespace bdnn {
namespace {

const std::vector<Method>& registry() {
  static const std::vector<Method> all = {
      lsh_method(), sklsh_method(), klsh_method(),    pca_method(),      pca_rr_method(),  isohash_method(),
      sh_method(),  sph_method(),   itq_method(),     kmh_method(),      ba_method(),      semantic_method(),
      dh_method(),  bre_u_method(), uh_bdnn_method(), lda_hash_method(), itq_cca_method(), classifier_method(),
      bre_method(), ksh_method(),   sdh_method(),     fasthash_method(), sh_bdnn_method(),
  };
  return all;
}

const Method& method_named(const std::string& name) {
  std::string names;
  for (const auto& method : registry()) {
    if (method.info.name == name) return method;
    names += (names.empty() ? "" : ", ") + method.info.name;
  }
  misuse("unknown method '{}'; the methods are {}", name, names);
}

// Identifies a training run, by everything the model depends on; resuming requires an equal one.
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

// The decoder for methods without one of their own: the best for the model's codes of its training vectors.
Decoder fitted_decoder(const Model& model, const Vectors& vectors, Threads& threads) {
  constexpr double kDecay = 1e-4;  // against bits that are nearly constant or nearly equal
  const Scaling none{VectorXd::Zero(static_cast<Eigen::Index>(vectors.dimension())), 1};
  return decoder_layer(fit_decoder(HashEncoder(model.function), vectors, kDecay, threads), none);
}

// The options that all methods have: how vectors are prepared for the method, in this order.
struct Preparation {
  int pca = 0;  // principal components; 0: none
  enum class Normalise { none, unit } normalise = Normalise::none;
};

OptionList options_of(Preparation& preparation) {
  return {
      integer_option("pca", "reduce vectors to this many principal components of the training vectors; 0: no reduction",
                     preparation.pca, 0, 1 << 20),
      word_option("normalise", "unit: scale vectors to unit length, after any reduction", preparation.normalise,
                  {"none", "unit"}),
  };
}

// Removes these options from `set` and parses them.
Preparation take_preparation(const std::string& method, OptionValues& set) {
  Preparation preparation;
  const OptionList options = options_of(preparation);
  OptionValues own;
  for (const auto& option : options) {
    if (auto found = set.extract(option.name)) own.insert(std::move(found));
  }
  set_options(method, options, own);
  return preparation;
}

// The options that differ from their defaults.
OptionValues printed(Preparation preparation) {
  Preparation defaults;
  const OptionValues unchanged = printed(options_of(defaults));
  OptionValues all = printed(options_of(preparation));
  std::erase_if(all, [&](const auto& option) { return unchanged.at(option.first) == option.second; });
  return all;
}

Vectors of_unit_length(const Vectors& vectors, Threads& threads) {
  const std::size_t dimension = vectors.dimension();
  std::vector<float> values(dimension * vectors.size());
  for_each_tile_of(vectors, threads, [&](std::size_t first, std::size_t count, const float* x, std::size_t) {
    scale_to_unit_length(x, dimension, count, values.data() + first * dimension);
  });
  return {dimension, vectors.size(), std::move(values)};
}

}  // namespace

std::vector<MethodInfo> methods() {
  std::vector<MethodInfo> infos;
  for (const auto& method : registry()) infos.push_back(method.info);
  return infos;
}

MethodInfo method_info(const std::string& name) { return method_named(name).info; }

bool reduces_vectors(const TrainOptions& options) {
  OptionValues set = options.set;
  return take_preparation(options.method, set).pca > 0;
}

std::vector<OptionInfo> preparation_infos() {
  std::vector<OptionInfo> infos;
  Preparation defaults;
  for (const auto& option : options_of(defaults)) {
    infos.push_back({option.name, option.print(), option.allowed, option.summary});
  }
  return infos;
}

Model train(const Vectors& vectors, const TrainOptions& options) {
  Progress silent;
  return train(vectors, options, silent);
}

Model train(const Vectors& vectors, const TrainOptions& options, Progress& progress) {
  const Method& method = method_named(options.method);
  if (options.bits < 1 || options.bits > kMaxBits) {
    misuse("a model of {} bits is not possible; ask for 1 to {}", options.bits, kMaxBits);
  }
  if (vectors.size() == 0 || vectors.dimension() == 0) misuse("there are no vectors to train on");
  if (method.info.supervised && options.labels.empty())
    misuse("{} learns from labels; give one label per vector", options.method);
  if (!options.labels.empty() && options.labels.size() != vectors.size()) {
    misuse("there are {} labels for {} vectors; give one label per vector", options.labels.size(), vectors.size());
  }
  if (options.resume && options.checkpoint.empty()) misuse("resuming needs the path of a checkpoint");
  Threads threads(options.threads, &progress);
  Model model;
  OptionValues set = options.set;
  const Preparation preparation = take_preparation(options.method, set);
  const OptionValues resolved = method.resolve(options.profile, set);
  model.record.options = resolved;
  for (const auto& [name, value] : printed(preparation)) model.record.options[name] = value;
  std::optional<PrincipalComponents> components;
  if (preparation.pca > 0) {
    components = fit_components(vectors, static_cast<std::size_t>(preparation.pca), threads, progress);
  }
  const Vectors seen = components ? reduced(components->layer, vectors, threads) : vectors;
  const bool to_unit_length = preparation.normalise == Preparation::Normalise::unit;
  const Vectors x = to_unit_length ? of_unit_length(seen, threads) : seen;
  TrainingTask task{x,
                    method.info.supervised ? std::span(options.labels) : std::span<const std::int64_t>(),
                    options.bits,
                    options.seed,
                    {method.info.resumable ? options.checkpoint : "", "", options.resume},
                    threads,
                    progress};
  if (!task.checkpoint.path.empty()) task.checkpoint.identity = identity_of(task, options, model.record.options);
  Trained trained = method.train(task, resolved);
  model.function = std::move(trained.function);
  if (to_unit_length) scale_inputs_to_unit_length(model.function);
  if (options.decoder) {
    model.decoder = std::move(trained.decoder);
    if (!model.decoder) model.decoder = fitted_decoder(model, seen, threads);
  }
  if (components) {
    if (model.decoder) model.decoder = decoder_before(*components, *model.decoder);
    model.reduction = std::move(components->layer);
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
