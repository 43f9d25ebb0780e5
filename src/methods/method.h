// The interface between a method and the registry. A method is a folder with a header, a source and a test, a page in
// docs/methods/, and one line in registry.cc.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/threads.h"
#include "bdnn/methods.h"
#include "methods/options.h"

namespace bdnn {

// The checkpoint of a training run.
struct CheckpointPlace {
  std::string path;      // "": nowhere
  std::string identity;  // everything the result depends on; a checkpoint with another identity is refused
  bool resume = false;
};

// The input of every method.
struct TrainingTask {
  const Vectors& x;
  std::span<const std::int64_t> labels;  // of supervised methods; -1: unlabelled
  std::size_t bits;
  std::uint64_t seed;
  CheckpointPlace checkpoint;
  Threads& threads;
  Progress& progress;
};

// Its result.
struct Trained {
  HashFunction function;
  std::optional<Decoder> decoder = {};
  std::string outcome = {};
};

struct Method {
  MethodInfo info;
  // The options as they will be used: those of the profile, overridden by those in `set`.
  std::function<OptionValues(const std::string& profile, const OptionValues& set)> resolve;
  std::function<Trained(const TrainingTask&, const OptionValues& resolved)> train;
};

template <class Options>
struct Profile {
  std::string name;
  std::string summary;
  Options options;
};

// A method in terms of a plain struct of options, whose members hold the defaults.
template <class Options>
struct MethodDefinition {
  std::string name;
  std::string summary;
  std::string reference;
  OptionList (*options)(Options& of) = [](Options&) { return OptionList(); };  // each refers to a member of `of`
  std::vector<Profile<Options>> profiles = {};                                 // besides the default
  bool supervised = false;
  bool resumable = false;
  Trained (*train)(const TrainingTask&, const Options&);
};

// A definition without the type of its options. Values are made from a profile, and come with the options that set
// them.
struct MethodParts {
  struct Values {
    std::shared_ptr<void> options;
    OptionList list;
  };
  struct Start {
    std::string name;
    std::string summary;
    std::function<Values()> values;
  };
  MethodInfo info;
  std::vector<Start> profiles;  // the default first
  std::function<Trained(const TrainingTask&, const void* options)> train;
};
Method assemble(MethodParts parts);

template <class Options>
Method make_method(const MethodDefinition<Options>& definition) {
  const auto start = [list = definition.options](const std::string& name, const std::string& summary,
                                                 const Options& options) {
    return MethodParts::Start{name, summary, [list, options] {
                                const auto own = std::make_shared<Options>(options);
                                return MethodParts::Values{own, list(*own)};
                              }};
  };
  MethodParts parts;
  parts.info.name = definition.name;
  parts.info.summary = definition.summary;
  parts.info.reference = definition.reference;
  parts.info.supervised = definition.supervised;
  parts.info.resumable = definition.resumable;
  parts.profiles.push_back(start("default", "", Options()));
  for (const auto& profile : definition.profiles) {
    parts.profiles.push_back(start(profile.name, profile.summary, profile.options));
  }
  parts.train = [train = definition.train](const TrainingTask& task, const void* options) {
    return train(task, *static_cast<const Options*>(options));
  };
  return assemble(std::move(parts));
}

}  // namespace bdnn
