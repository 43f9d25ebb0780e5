#include "codes/origin.h"

#include <fmt/format.h>

#include <limits>

namespace bdnn {

std::map<std::string, Json> json_members(const CodesOrigin& origin) {
  std::map<std::string, Json> members{{"model", origin.model}, {"method", origin.method}};
  if (origin.refined) members["refined"] = {{"local_search", origin.local_search}};
  return members;
}

CodesOrigin origin_from(const JsonValue& json) {
  const auto text = [&](const char* name) {
    const std::string* value = json[name].as_string();
    return value != nullptr ? *value : std::string();
  };
  CodesOrigin origin{text("model"), text("method")};
  if (const JsonValue& refined = json["refined"]; refined.as_object() != nullptr) {
    origin.refined = true;
    const auto rounds = refined["local_search"].as_whole();
    if (rounds && *rounds <= std::numeric_limits<int>::max()) origin.local_search = static_cast<int>(*rounds);
  }
  return origin;
}

std::string kind_of_codes(const CodesOrigin& origin) {
  if (origin.model.empty()) return "unknown";
  return origin.refined ? fmt::format("refined, {} rounds of local search", origin.local_search)
                        : "of the hash function";
}

bool may_be_mixed(const CodesOrigin& a, const CodesOrigin& b) {
  return a.model.empty() || b.model.empty() || (a.model == b.model && a.refined == b.refined);
}

}  // namespace bdnn
