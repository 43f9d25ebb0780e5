#include "base/json.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace bdnn {
namespace {

constexpr std::size_t kMaxDepth = 8;  // a nesting deeper than our formats' own is hostile

std::string dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The value, or an Error that says what the member must be.
template <class Found>
decltype(auto) expect(const Found& found, std::string_view name, const char* type) {
  if (!found) failure("'{}' must be {}", name, type);
  return *found;
}

}  // namespace

Json::Json(double value) : text_(dump(value)) {}
Json::Json(std::string_view value) : text_(dump(value)) {}

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

std::string Json::indented_text() const {
  const std::string compact = text();
  std::string result;
  std::size_t depth = 0;
  bool quoted = false;
  const auto new_line = [&] { result.append(1, '\n').append(2 * depth, ' '); };
  for (std::size_t i = 0; i < compact.size(); ++i) {
    const char c = compact[i];
    const bool opens = !quoted && (c == '{' || c == '[');
    const bool closes = !quoted && (c == '}' || c == ']');
    const bool empty = (opens && compact[i + 1] == c + 2) || (closes && compact[i - 1] == c - 2);  // "{}" or "[]"
    if (closes) --depth;
    if (closes && !empty) new_line();
    result += c;
    if (quoted && c == '\\') result += compact[++i];
    if (c == '"') quoted = !quoted;
    if (opens) ++depth;
    if ((opens && !empty) || (!quoted && c == ',')) new_line();
    if (!quoted && c == ':') result += ' ';
  }
  return result;
}

// Receives what the parser reads, value by value.
class JsonBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonValue take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(std::int64_t value) override { return put(static_cast<double>(value)); }  // below 0
  bool number_unsigned(std::uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }  // not in JSON as text

  bool start_object(std::size_t) override { return open(JsonValue::Members()); }
  bool key(std::string& name) override {
    name_ = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(JsonValue::Elements()); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    failure("is not valid JSON from byte {} on", position);
  }

 private:
  // Places of open values stay where they are: only the innermost grows.
  JsonValue& place() {
    if (open_.empty()) return root_;
    JsonValue::Value& parent = open_.back()->value_;
    if (auto* members = std::get_if<JsonValue::Members>(&parent)) {
      return members->emplace_back(std::move(name_), JsonValue()).second;
    }
    return std::get<JsonValue::Elements>(parent).emplace_back();
  }

  template <class T>
  bool put(T&& value) {
    place().value_ = std::forward<T>(value);
    return true;
  }

  template <class T>
  bool open(T empty) {
    if (open_.size() == kMaxDepth) failure("is nested too deep");
    JsonValue& value = place();
    value.value_ = std::move(empty);
    open_.push_back(&value);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::string name_;  // of the next member
};

JsonValue JsonValue::parse(std::string_view text) {
  JsonBuilder builder;
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

bool JsonValue::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }

const std::string* JsonValue::as_string() const { return std::get_if<std::string>(&value_); }

std::optional<std::uint64_t> JsonValue::as_whole() const {
  const auto* value = std::get_if<std::uint64_t>(&value_);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<double> JsonValue::as_number() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  return std::nullopt;
}

const JsonValue::Elements* JsonValue::as_array() const { return std::get_if<Elements>(&value_); }
const JsonValue::Members* JsonValue::as_object() const { return std::get_if<Members>(&value_); }

const JsonValue* JsonValue::find(std::string_view name) const {
  const Members* members = as_object();
  if (members == nullptr) return nullptr;
  for (auto member = members->rbegin(); member != members->rend(); ++member) {
    if (member->first == name) return &member->second;
  }
  return nullptr;
}

const JsonValue& JsonValue::operator[](std::string_view name) const {
  static const JsonValue kNull;
  const JsonValue* found = find(name);
  return found != nullptr ? *found : kNull;
}

const JsonValue& JsonValue::at(std::string_view name) const {
  const JsonValue* found = find(name);
  if (found == nullptr) failure("'{}' is missing", name);
  return *found;
}

const std::string& JsonValue::string_at(std::string_view name) const {
  return expect(at(name).as_string(), name, "a string");
}

std::uint64_t JsonValue::whole_at(std::string_view name) const {
  return expect(at(name).as_whole(), name, "a whole number, 0 or more");
}

int JsonValue::int_at(std::string_view name) const {
  const std::uint64_t value = whole_at(name);
  if (value > std::numeric_limits<int>::max()) failure("'{}' is {}, which is too large", name, value);
  return static_cast<int>(value);
}

double JsonValue::number_at(std::string_view name) const { return expect(at(name).as_number(), name, "a number"); }

std::vector<double> JsonValue::numbers_at(std::string_view name) const {
  std::vector<double> numbers;
  for (const JsonValue& value : array_at(name)) numbers.push_back(expect(value.as_number(), name, "a list of numbers"));
  return numbers;
}

const JsonValue::Elements& JsonValue::array_at(std::string_view name) const {
  return expect(at(name).as_array(), name, "a list");
}

}  // namespace bdnn
