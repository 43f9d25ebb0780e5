#include "bdnn/methods.h"

#include <fmt/format.h>

#include "cli/command.h"

namespace bdnn::cli {
namespace {

void methods_verb(bool json) {
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& method : methods()) {
      auto options = nlohmann::ordered_json::array();
      for (const auto& option : method.options) {
        options.push_back({{"name", option.name},
                           {"default", option.default_value},
                           {"allowed", option.allowed},
                           {"summary", option.summary}});
      }
      list.push_back(
          {{"name", method.name}, {"summary", method.summary}, {"reference", method.reference}, {"options", options}});
    }
    print_json({{"methods", list}});
    return;
  }
  for (const auto& method : methods()) {
    fmt::print("{:<8} {}\n         {}\n", method.name, method.summary, method.reference);
    for (const auto& option : method.options) {
      fmt::print("         --set {}={}  {} ({})\n", option.name, option.default_value, option.summary, option.allowed);
    }
  }
}

}  // namespace

void add_methods(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* verb = add_verb(app, "methods", "List the methods with their options and defaults", "  bdnn methods");
  add_json_option(verb, *json);
  verb->callback([json] { methods_verb(*json); });
}

}  // namespace bdnn::cli
