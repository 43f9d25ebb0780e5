// What a method offers to the registry. A method is a folder with a header, a source and a test, a page in
// docs/methods/, and one line in registry.cc.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/threads.h"
#include "bdnn/methods.h"
#include "methods/options.h"

namespace bdnn {

// What every method is given.
struct TrainingTask {
  const Vectors& x;
  std::size_t bits;
  std::uint64_t seed;
  Threads& threads;
  Progress& progress;
};

using OptionValues = std::map<std::string, std::string>;

struct Method {
  MethodInfo info;
  // Trains with the options in `set`; fills in the defaults of the others.
  std::function<HashFunction(const TrainingTask&, OptionValues& set)> train;
};

// Ties a plain struct of options, whose members hold the defaults, to names and checks.
template <class Options>
Method make_method(std::string name, std::string summary, std::string reference, std::vector<Option<Options>> options,
                   HashFunction (*train)(const TrainingTask&, const Options&)) {
  Method method;
  method.info = {name, std::move(summary), std::move(reference), {}};
  for (const auto& option : options) {
    method.info.options.push_back({option.name, option.print(Options()), option.allowed, option.summary});
  }
  method.train = [name, options, train](const TrainingTask& task, OptionValues& set) {
    const Options values = parse_options(name, options, set);
    for (const auto& option : options) set[option.name] = option.print(values);
    return train(task, values);
  };
  return method;
}

}  // namespace bdnn
