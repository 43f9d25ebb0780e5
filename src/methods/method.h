// What a method offers to the registry. A method is a folder with a header, a source and a test, a page in
// docs/methods/, and one line in registry.cc.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/threads.h"
#include "bdnn/methods.h"
#include "methods/options.h"

namespace bdnn {

// Where a training is kept while it lasts.
struct CheckpointPlace {
  std::string path;      // "": nowhere
  std::string identity;  // all that the result depends on; a checkpoint of another one is refused
  bool resume = false;
};

// What every method is given.
struct TrainingTask {
  const Vectors& x;
  std::span<const std::int64_t> labels;  // of supervised methods; -1: unlabelled
  std::size_t bits;
  std::uint64_t seed;
  CheckpointPlace checkpoint;
  Threads& threads;
  Progress& progress;
};

// What it gives back.
struct Trained {
  HashFunction function;
  std::optional<Decoder> decoder = {};
  std::string outcome = {};
};

using OptionValues = std::map<std::string, std::string>;

struct Method {
  MethodInfo info;
  // The options as they will be used: of the profile, with those in `set` in their place.
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
  std::vector<Option<Options>> options = {};
  std::vector<Profile<Options>> profiles = {};  // besides the default
  bool supervised = false;
  bool resumable = false;
  Trained (*train)(const TrainingTask&, const Options&);
};

template <class Options>
Method make_method(const MethodDefinition<Options>& definition) {
  const auto printed = [](const MethodDefinition<Options>& of, const Options& values) {
    OptionValues texts;
    for (const auto& option : of.options) texts[option.name] = option.print(values);
    return texts;
  };
  Method method;
  method.info = {definition.name,       definition.summary,  definition.reference, {}, {},
                 definition.supervised, definition.resumable};
  const OptionValues defaults = printed(definition, Options());
  for (const auto& option : definition.options) {
    method.info.options.push_back({option.name, defaults.at(option.name), option.allowed, option.summary});
  }
  for (const auto& profile : definition.profiles) {
    ProfileInfo info{profile.name, profile.summary, {}};
    for (const auto& [name, text] : printed(definition, profile.options)) {
      if (text != defaults.at(name)) info.options[name] = text;
    }
    method.info.profiles.push_back(std::move(info));
  }
  method.resolve = [definition, printed](const std::string& profile, const OptionValues& set) {
    Options values;
    bool found = profile == "default";
    std::string names = "default";
    for (const auto& known : definition.profiles) {
      names += ", " + known.name;
      if (known.name != profile) continue;
      values = known.options;
      found = true;
    }
    if (!found) misuse("{} has no profile '{}'; it has {}", definition.name, profile, names);
    return printed(definition, parse_options(definition.name, definition.options, set, values));
  };
  method.train = [definition](const TrainingTask& task, const OptionValues& resolved) {
    return definition.train(task, parse_options(definition.name, definition.options, resolved, Options()));
  };
  return method;
}

}  // namespace bdnn
