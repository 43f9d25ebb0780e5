// A method's options by name: parsed, checked and printed.
#pragma once

#include <charconv>
#include <functional>
#include <map>
#include <optional>
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

// Options are reached by `at(options)`, which gives a reference to a member, however deep.

// An integer within [least, most].
template <class Options, class At>
Option<Options> integer_option_at(std::string name, std::string summary, At at, int least, int most) {
  return {std::move(name), std::move(summary), fmt::format("{} to {}", least, most),
          [=](Options& options, const std::string& text) {
            int value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) return false;
            at(options) = value;
            return true;
          },
          [=](const Options& options) { return std::to_string(at(options)); }};
}
template <class Options>
Option<Options> integer_option(std::string name, std::string summary, int Options::*member, int least, int most) {
  const auto at = [member](auto& options) -> auto& { return options.*member; };
  return integer_option_at<Options>(std::move(name), std::move(summary), at, least, most);
}

// A number within [least, most]; printed so that it reads back the same.
template <class Options, class At>
Option<Options> real_option_at(std::string name, std::string summary, At at, double least, double most) {
  return {std::move(name), std::move(summary), fmt::format("{} to {}", least, most),
          [=](Options& options, const std::string& text) {
            double value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
              return false;
            }
            at(options) = value;
            return true;
          },
          [=](const Options& options) { return fmt::format("{}", at(options)); }};
}

// The same, where "auto" leaves it to the method; the member is a std::optional<double>.
template <class Options, class At>
Option<Options> optional_real_option_at(std::string name, std::string summary, At at, double least, double most) {
  const auto plain = real_option_at<std::optional<double>>(
      name, summary, [](auto& value) -> auto& { return *value; }, least, most);
  return {std::move(name), std::move(summary), plain.allowed + ", or auto",
          [=](Options& options, const std::string& text) {
            at(options) = text == "auto" ? std::nullopt : std::optional(0.0);
            return text == "auto" || plain.set(at(options), text);
          },
          [=](const Options& options) { return at(options) ? plain.print(at(options)) : "auto"; }};
}

// One of a few words; the member holds the position of the word.
template <class Options, class At>
Option<Options> word_option_at(std::string name, std::string summary, At at, std::vector<std::string> words) {
  std::string allowed;
  for (const auto& word : words) allowed += (allowed.empty() ? "" : " or ") + word;
  return {std::move(name), std::move(summary), allowed,
          [=](Options& options, const std::string& text) {
            for (std::size_t i = 0; i < words.size(); ++i) {
              if (words[i] != text) continue;
              using Enum = std::remove_reference_t<decltype(at(options))>;
              at(options) = static_cast<Enum>(i);
              return true;
            }
            return false;
          },
          [=](const Options& options) { return words[static_cast<std::size_t>(at(options))]; }};
}
template <class Options, class Enum>
Option<Options> word_option(std::string name, std::string summary, Enum Options::*member,
                            std::vector<std::string> words) {
  const auto at = [member](auto& options) -> auto& { return options.*member; };
  return word_option_at<Options>(std::move(name), std::move(summary), at, std::move(words));
}

// Any text; what it means is checked where the data is at hand.
template <class Options, class Owner>
Option<Options> text_option_of(std::string name, std::string summary, std::string Owner::*member, std::string allowed) {
  return {std::move(name), std::move(summary), std::move(allowed),
          [=](Options& options, const std::string& text) {
            options.*member = text;
            return true;
          },
          [=](const Options& options) { return options.*member; }};
}

template <class Options>
Option<Options> flag_option(std::string name, std::string summary, bool Options::*member) {
  return word_option(std::move(name), std::move(summary), member, {"false", "true"});
}

// Values by name, over those in `options`.
template <class Options>
Options parse_options(const std::string& method, const std::vector<Option<Options>>& known,
                      const std::map<std::string, std::string>& set, Options options) {
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
