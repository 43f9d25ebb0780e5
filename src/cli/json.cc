#include "cli/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace bdnn::cli {
namespace {

std::string dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Json::Json(double value) : text_(dump(value)) {}
Json::Json(std::string_view value) : text_(dump(value)) {}

Json::Json(const std::map<std::string, std::string>& values) : Json(object()) {
  for (const auto& [name, value] : values) add(name, value);
}

Json::Json(std::initializer_list<JsonMember> members) : Json('{', "}") {
  for (const auto& [name, value] : members) add(name, value);
}

Json Json::object() { return {'{', "}"}; }
Json Json::array() { return {'[', "]"}; }

void Json::separate() {
  if (text_.size() > 1) text_ += ',';
}

void Json::add(std::string_view name, const Json& value) {
  separate();
  text_ += dump(name);
  text_ += ':';
  text_ += value.text_;
  text_ += value.close_;
}

void Json::push_back(const Json& value) {
  separate();
  text_ += value.text_;
  text_ += value.close_;
}

void print_json(const Json& json) { fmt::print("{}\n", json.text()); }

}  // namespace bdnn::cli
