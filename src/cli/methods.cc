#include "bdnn/methods.h"

#include <fmt/format.h>

#include "cli/command.h"

namespace bdnn::cli {
namespace {

void methods_verb(bool json) {
  if (json) {
    auto list = Json::array();
    for (const auto& method : methods()) {
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
      list.push_back({{"name", method.name},
                      {"summary", method.summary},
                      {"reference", method.reference},
                      {"supervised", method.supervised},
                      {"resumable", method.resumable},
                      {"options", options},
                      {"profiles", profiles}});
    }
    print_json({{"methods", list}});
    return;
  }
  for (const auto& method : methods()) {
    fmt::print("{:<8} {}\n         {}\n", method.name, method.summary, method.reference);
    for (const auto& option : method.options) {
      fmt::print("         --set {}={}  {} ({})\n", option.name, option.default_value, option.summary, option.allowed);
    }
    for (const auto& profile : method.profiles) {
      fmt::print("         --profile {}  {}:", profile.name, profile.summary);
      for (const auto& [name, value] : profile.options) fmt::print(" {}={}", name, value);
      fmt::print("\n");
    }
  }
}

}  // namespace

void add_methods(Verb program) {
  const auto json = std::make_shared<bool>(false);
  Verb verb = add_verb(program, "methods", "List the methods with their options and defaults", "  bdnn methods");
  add_json_option(verb, *json);
  verb.runs([json] { methods_verb(*json); });
}

}  // namespace bdnn::cli
