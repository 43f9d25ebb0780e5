// A method's options by name: parsed, checked and printed. Nothing here is a template but what an enumeration needs, so
// that methods compile quickly.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bdnn {

using OptionValues = std::map<std::string, std::string>;

// One option; it refers to the value that it sets and prints.
struct Option {
  std::string name;
  std::string summary;
  std::string allowed;                               // the allowed values, for messages
  std::function<bool(const std::string& text)> set;  // false if the value is not allowed
  std::function<std::string()> print;
};
using OptionList = std::vector<Option>;

// A number within [least, most]; reals are printed so that they read back the same.
Option integer_option(std::string name, std::string summary, int& value, int least, int most);
Option real_option(std::string name, std::string summary, double& value, double least, double most);

// The same; "auto" leaves the value to the method.
Option optional_real_option(std::string name, std::string summary, std::optional<double>& value, double least,
                            double most);

// Any text; it is checked later, when the data is known.
Option text_option(std::string name, std::string summary, std::string& value, std::string allowed);

Option flag_option(std::string name, std::string summary, bool& value);

// One of a few words, by its position.
Option choice_option(std::string name, std::string summary, std::vector<std::string> words,
                     std::function<std::size_t()> get, std::function<void(std::size_t)> set);
template <class Enum>
Option word_option(std::string name, std::string summary, Enum& value, std::vector<std::string> words) {
  return choice_option(
      std::move(name), std::move(summary), std::move(words), [&value] { return static_cast<std::size_t>(value); },
      [&value](std::size_t position) { value = static_cast<Enum>(position); });
}

// Sets values by name. Raises Error on a name or a value that the method does not have.
void set_options(const std::string& method, const OptionList& options, const OptionValues& values);

OptionValues printed(const OptionList& options);

}  // namespace bdnn
