#include "methods/options.h"

#include <charconv>
#include <utility>

#include "base/error.h"

namespace bdnn {
namespace {

// nullopt unless the whole text is a number within [least, most].
template <class Number>
std::optional<Number> number_within(const std::string& text, Number least, Number most) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) return {};
  return value;
}

}  // namespace

Option integer_option(std::string name, std::string summary, int& value, int least, int most) {
  return {std::move(name), std::move(summary), fmt::format("{} to {}", least, most),
          [&value, least, most](const std::string& text) {
            const auto number = number_within(text, least, most);
            if (number) value = *number;
            return number.has_value();
          },
          [&value] { return std::to_string(value); }};
}

Option real_option(std::string name, std::string summary, double& value, double least, double most) {
  return {std::move(name), std::move(summary), fmt::format("{} to {}", least, most),
          [&value, least, most](const std::string& text) {
            const auto number = number_within(text, least, most);
            if (number) value = *number;
            return number.has_value();
          },
          [&value] { return fmt::format("{}", value); }};
}

Option optional_real_option(std::string name, std::string summary, std::optional<double>& value, double least,
                            double most) {
  return {std::move(name), std::move(summary), fmt::format("{} to {}, or auto", least, most),
          [&value, least, most](const std::string& text) {
            value = text == "auto" ? std::nullopt : number_within(text, least, most);
            return text == "auto" || value.has_value();
          },
          [&value] { return value ? fmt::format("{}", *value) : "auto"; }};
}

Option text_option(std::string name, std::string summary, std::string& value, std::string allowed) {
  return {std::move(name), std::move(summary), std::move(allowed),
          [&value](const std::string& text) {
            value = text;
            return true;
          },
          [&value] { return value; }};
}

Option flag_option(std::string name, std::string summary, bool& value) {
  return choice_option(
      std::move(name), std::move(summary), {"false", "true"}, [&value] { return std::size_t{value}; },
      [&value](std::size_t position) { value = position == 1; });
}

Option choice_option(std::string name, std::string summary, std::vector<std::string> words,
                     std::function<std::size_t()> get, std::function<void(std::size_t)> set) {
  std::string allowed;
  for (const auto& word : words) allowed += (allowed.empty() ? "" : " or ") + word;
  return {std::move(name), std::move(summary), allowed,
          [words, set = std::move(set)](const std::string& text) {
            for (std::size_t i = 0; i < words.size(); ++i) {
              if (words[i] != text) continue;
              set(i);
              return true;
            }
            return false;
          },
          [words, get = std::move(get)] { return words[get()]; }};
}

void set_options(const std::string& method, const OptionList& options, const OptionValues& values) {
  for (const auto& [name, text] : values) {
    bool found = false;
    for (const auto& option : options) {
      if (option.name != name) continue;
      found = true;
      if (!option.set(text)) {
        misuse("{}={} is not possible for {}; {} is {}", name, text, method, name, option.allowed);
      }
    }
    if (found) continue;
    std::string names;
    for (const auto& option : options) names += (names.empty() ? "" : ", ") + option.name;
    misuse("{} has no option '{}'; it has {}", method, name, names.empty() ? "none" : names);
  }
}

OptionValues printed(const OptionList& options) {
  OptionValues texts;
  for (const auto& option : options) texts[option.name] = option.print();
  return texts;
}

}  // namespace bdnn
