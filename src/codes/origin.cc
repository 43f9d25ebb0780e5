#include "codes/origin.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace bdnn {

nlohmann::json to_json(const CodesOrigin& origin) {
  nlohmann::json json{{"model", origin.model}, {"method", origin.method}};
  if (origin.refined) json["refined"] = {{"local_search", origin.local_search}};
  return json;
}

CodesOrigin origin_from(const nlohmann::json& json) {
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  CodesOrigin origin{text("model"), text("method")};
  if (const auto refined = json.find("refined"); refined != json.end() && refined->is_object()) {
    origin.refined = true;
    const auto rounds = refined->find("local_search");
    if (rounds != refined->end() && rounds->is_number_integer()) origin.local_search = rounds->get<int>();
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
