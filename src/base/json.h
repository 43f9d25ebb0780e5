// JSON, written and read. Only json.cc includes the JSON library, which takes long to compile.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bdnn {

struct JsonMember;

// JSON to write. A value is text from the start, so that large answers take no tree in memory. Members keep the order
// in which they were added.
class Json {
 public:
  Json() : text_("null") {}
  Json(bool value) : text_(value ? "true" : "false") {}
  Json(double value);  // the shortest text that reads back as the same double; null if not finite
  template <std::integral T>
  Json(T value) : text_(std::to_string(value)) {}
  Json(std::string_view value);  // replaces invalid UTF-8, which JSON cannot hold
  Json(const std::string& value) : Json(std::string_view(value)) {}
  Json(const char* value) : Json(std::string_view(value)) {}

  // An object: {{"name", value}, ...}.
  Json(std::initializer_list<JsonMember> members);
  template <class Value>
  Json(const std::map<std::string, Value>& members) : Json(object()) {
    for (const auto& [name, value] : members) add(name, value);
  }
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
  std::string indented_text() const;  // by two blanks

 private:
  Json(char open, const char* close) : text_(1, open), close_(close) {}
  void separate();

  std::string text_;        // without the closing bracket, so that more can be added
  const char* close_ = "";  // "}" or "]" if the value has one
};

struct JsonMember {
  std::string_view name;
  Json value;
};

// Parsed JSON, which is not trusted: a value of the wrong type gives an empty result, or raises Error with the member's
// name: "'bits' must be a whole number". The caller adds the name of the file.
class JsonValue {
 public:
  using Elements = std::vector<JsonValue>;
  using Members = std::vector<std::pair<std::string, JsonValue>>;  // in the order of the text

  // Raises Error if the text is not JSON, or is nested deeper than any format of ours.
  static JsonValue parse(std::string_view text);

  bool is_null() const;
  // Empty if the value is of another type.
  const std::string* as_string() const;
  std::optional<std::uint64_t> as_whole() const;  // an integer, 0 or more
  std::optional<double> as_number() const;
  const Elements* as_array() const;
  const Members* as_object() const;

  // A member of an object, the last of several with one name; null if there is none, or the value is not an object.
  const JsonValue& operator[](std::string_view name) const;

  // A required member, which must be of this type.
  const JsonValue& at(std::string_view name) const;
  const std::string& string_at(std::string_view name) const;
  std::uint64_t whole_at(std::string_view name) const;
  int int_at(std::string_view name) const;  // 0 or more
  double number_at(std::string_view name) const;
  std::vector<double> numbers_at(std::string_view name) const;
  const Elements& array_at(std::string_view name) const;

 private:
  friend class JsonBuilder;
  const JsonValue* find(std::string_view name) const;

  using Value = std::variant<std::nullptr_t, bool, std::uint64_t, double, std::string, Elements, Members>;

  Value value_;
};

}  // namespace bdnn
