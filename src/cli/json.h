// JSON to print: values that are text from the start, so that large answers take no tree in memory.
#pragma once

#include <concepts>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

namespace bdnn::cli {

struct JsonMember;

class Json {
 public:
  Json(bool value) : text_(value ? "true" : "false") {}
  Json(double value);  // the shortest text that reads back as the same double; null if not finite
  template <std::integral T>
  Json(T value) : text_(std::to_string(value)) {}
  Json(std::string_view value);  // replaces invalid UTF-8, which JSON cannot hold
  Json(const std::string& value) : Json(std::string_view(value)) {}
  Json(const char* value) : Json(std::string_view(value)) {}
  Json(const std::map<std::string, std::string>& values);

  // An object: {{"name", value}, ...}.
  Json(std::initializer_list<JsonMember> members);
  static Json object();
  void add(std::string_view name, const Json& value);

  static Json array();
  template <class Values>
  static Json array(const Values& values) {
    Json list = array();
    for (const auto& value : values) list.push_back(value);
    return list;
  }
  void push_back(const Json& value);

  std::string text() const { return text_ + close_; }

 private:
  Json(char open, const char* close) : text_(1, open), close_(close) {}
  void separate();

  std::string text_;        // but for the closing bracket, so that more can be added
  const char* close_ = "";  // "}" or "]" if the value has one
};

struct JsonMember {
  std::string_view name;
  Json value;
};

// One line on standard output.
void print_json(const Json& json);

}  // namespace bdnn::cli
