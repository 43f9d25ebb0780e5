#include "methods/method.h"

#include "base/error.h"

namespace bdnn {

Method assemble(MethodParts parts) {
  Method method;
  method.info = parts.info;
  const MethodParts::Values defaults = parts.profiles.front().values();
  const OptionValues default_texts = printed(defaults.list);
  for (const auto& option : defaults.list) {
    method.info.options.push_back({option.name, default_texts.at(option.name), option.allowed, option.summary});
  }
  for (std::size_t i = 1; i < parts.profiles.size(); ++i) {
    const auto& profile = parts.profiles[i];
    ProfileInfo info{profile.name, profile.summary, {}};
    for (const auto& [name, text] : printed(profile.values().list)) {
      if (text != default_texts.at(name)) info.options[name] = text;
    }
    method.info.profiles.push_back(std::move(info));
  }
  method.resolve = [parts](const std::string& wanted, const OptionValues& set) {
    std::string names;
    for (const auto& profile : parts.profiles) {
      names += (names.empty() ? "" : ", ") + profile.name;
      if (profile.name != wanted) continue;
      const MethodParts::Values values = profile.values();
      set_options(parts.info.name, values.list, set);
      return printed(values.list);
    }
    misuse("{} has no profile '{}'; it has {}", parts.info.name, wanted, names);
  };
  method.train = [parts](const TrainingTask& task, const OptionValues& resolved) {
    const MethodParts::Values values = parts.profiles.front().values();
    set_options(parts.info.name, values.list, resolved);
    return parts.train(task, values.options.get());
  };
  return method;
}

}  // namespace bdnn
