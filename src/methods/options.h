// A method's options by name: parsed, checked and printed.
#pragma once

#include <charconv>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace bdnn {

template <class Options>
struct Option {
  std::string name;
  std::string summary;
  std::string allowed;                                         // what values are right, for messages
  std::function<bool(Options&, const std::string& text)> set;  // false: not a value that is allowed
  std::function<std::string(const Options&)> print;
};

// An integer within [least, most].
template <class Options>
Option<Options> integer_option(std::string name, std::string summary, int Options::*member, int least, int most) {
  return {std::move(name), std::move(summary), fmt::format("{} to {}", least, most),
          [=](Options& options, const std::string& text) {
            int value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) return false;
            options.*member = value;
            return true;
          },
          [=](const Options& options) { return std::to_string(options.*member); }};
}

template <class Options>
Option<Options> flag_option(std::string name, std::string summary, bool Options::*member) {
  return {std::move(name), std::move(summary), "true or false",
          [=](Options& options, const std::string& text) {
            if (text != "true" && text != "false") return false;
            options.*member = text == "true";
            return true;
          },
          [=](const Options& options) { return options.*member ? "true" : "false"; }};
}

template <class Options>
Options parse_options(const std::string& method, const std::vector<Option<Options>>& known,
                      const std::map<std::string, std::string>& set) {
  Options options;
  for (const auto& [name, text] : set) {
    bool found = false;
    for (const auto& option : known) {
      if (option.name != name) continue;
      found = true;
      if (!option.set(options, text)) {
        misuse("{}={} is not possible for {}; {} is {}", name, text, method, name, option.allowed);
      }
    }
    if (found) continue;
    std::string names;
    for (const auto& option : known) names += (names.empty() ? "" : ", ") + option.name;
    misuse("{} has no option '{}'; it has {}", method, name, names.empty() ? "none" : names);
  }
  return options;
}

}  // namespace bdnn
