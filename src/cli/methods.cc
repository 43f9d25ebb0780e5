#include "bdnn/methods.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/command.h"

namespace bdnn::cli {
namespace {

Json json_of(const MethodInfo& method) {
  auto options = Json::array();
  for (const auto& option : method.options) {
    options.push_back({{"name", option.name},
                       {"default", option.default_value},
                       {"allowed", option.allowed},
                       {"summary", option.summary}});
  }
  auto profiles = Json::array();
  for (const auto& profile : method.profiles) {
    profiles.push_back({{"name", profile.name}, {"summary", profile.summary}, {"options", profile.options}});
  }
  return {{"name", method.name},           {"summary", method.summary},
          {"reference", method.reference}, {"supervised", method.supervised},
          {"resumable", method.resumable}, {"options", options},
          {"profiles", profiles}};
}

// One line per method, unsupervised ones first.
void print_list(const std::vector<MethodInfo>& all) {
  for (const bool supervised : {false, true}) {
    fmt::print("{}\n", supervised ? "\nSupervised, which learn from labels:" : "Unsupervised:");
    for (const auto& method : all) {
      if (method.supervised == supervised) fmt::print("  {:<10} {}\n", method.name, method.summary);
    }
  }
  fmt::print("\n'bdnn methods NAME' shows the options of a method.\n");
}

void print_option(const OptionInfo& option) {
  fmt::print("  --set {}={}\n      {} ({})\n", option.name, option.default_value, option.summary, option.allowed);
}

void print_details(const MethodInfo& method) {
  fmt::print("{}: {}\n{}\n", method.name, method.summary, method.reference);
  for (const auto& option : method.options) print_option(option);
  for (const auto& option : preparation_infos()) print_option(option);
  for (const auto& profile : method.profiles) {
    fmt::print("  --profile {}\n      {}:", profile.name, profile.summary);
    for (const auto& [name, value] : profile.options) fmt::print(" {}={}", name, value);
    fmt::print("\n");
  }
}

void methods_verb(const std::vector<std::string>& names, bool json) {
  std::vector<MethodInfo> chosen;
  for (const auto& name : names) chosen.push_back(method_info(name));
  if (json) {
    auto list = Json::array();
    for (const auto& method : names.empty() ? methods() : chosen) list.push_back(json_of(method));
    return print_json({{"methods", list}});
  }
  if (names.empty()) return print_list(methods());
  for (const auto& method : chosen) {
    if (&method != chosen.data()) fmt::print("\n");
    print_details(method);
  }
}

}  // namespace

void add_methods(Verb program) {
  const auto json = std::make_shared<bool>(false);
  const auto names = std::make_shared<std::vector<std::string>>();
  Verb verb = add_verb(program, "methods", "List the methods, or the options and profiles of the named ones",
                       "  bdnn methods\n"
                       "  bdnn methods uh-bdnn");
  verb.texts("NAME", *names, "Methods to describe");
  add_json_option(verb, *json);
  verb.runs([json, names] { methods_verb(*names, *json); });
}

}  // namespace bdnn::cli
