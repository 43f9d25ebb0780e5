#include "base/toml.h"

// The parser and the destructor of a value take a frame of the stack for each level.
#define TOML_MAX_NESTED_VALUES 16
// toml++ 3.3 asserts what a damaged file can break ("[="), and lets clang rely on it where assertions are off. Its own
// checks stand right behind.
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>

#include "base/error.h"

namespace bdnn {

struct TomlTable::Node {
  toml::table table;
};

namespace {

const toml::table& table_at(const void* table) { return *static_cast<const toml::table*>(table); }
const toml::node& node_at(const void* node) { return *static_cast<const toml::node*>(node); }

// A dotted key makes a level of each of its parts, and toml++ 3.3 has no bound on them. Parts stand on one line, where
// no file of ours has as many dots.
void refuse_endless_keys(const std::string& text, const std::string& name) {
  constexpr std::size_t kMostDots = 250;
  std::size_t line = 1;
  std::size_t dots = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
    }
    if (c == '.' && ++dots > kMostDots) failure("{}: line {}: has more than {} dots", name, line, kMostDots);
  }
}

// Calls take(element) for each element of a list, or for one that stands in its place.
template <class Take>
void for_elements(const toml::node& node, const Take& take) {
  if (const auto* array = node.as_array()) {
    for (const auto& element : *array) take(element);
  } else {
    take(node);
  }
}

}  // namespace

TomlTable::TomlTable(std::shared_ptr<const Node> root, const void* table, std::string name, std::string file)
    : root_(std::move(root)), table_(table), name_(std::move(name)), file_(std::move(file)) {}

TomlTable TomlTable::parse(const std::string& text, const std::string& name) {
  refuse_endless_keys(text, name);
  try {
    auto root = std::make_shared<const Node>(Node{toml::parse(text, name)});
    const void* table = &root->table;
    return {std::move(root), table, "", name};
  } catch (const toml::parse_error& error) {
    failure("{}: line {}: {}", name, error.source().begin.line, error.description());
  }
}

const void* TomlTable::find(const char* key) {
  known_.emplace_back(key);
  return table_ == nullptr ? nullptr : table_at(table_).get(key);
}

void TomlTable::wrong(const char* key, const std::string& what) const {
  const toml::node* node = table_ == nullptr ? nullptr : table_at(table_).get(key);
  const auto line = node != nullptr     ? node->source().begin.line
                    : table_ != nullptr ? table_at(table_).source().begin.line
                                        : 0;
  failure("{}: line {}: '{}' is to be {}", file_, line, key, what);
}

std::optional<std::string> TomlTable::text(const char* key, const char* what) {
  const void* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node_at(node).value_exact<std::string>();
  if (!value) wrong(key, what);
  return *value;
}

std::optional<bool> TomlTable::flag(const char* key) {
  const void* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node_at(node).value_exact<bool>();
  if (!value) wrong(key, "true or false");
  return *value;
}

std::size_t TomlTable::count(const char* key, std::size_t otherwise) {
  const void* node = find(key);
  if (node == nullptr) return otherwise;
  const auto value = node_at(node).value_exact<std::int64_t>();
  if (!value || *value < 0) wrong(key, "a whole number, 0 or more");
  return static_cast<std::size_t>(*value);
}

std::optional<std::vector<std::string>> TomlTable::texts(const char* key, const char* what) {
  const void* node = find(key);
  if (node == nullptr) return std::nullopt;
  std::vector<std::string> values;
  for_elements(node_at(node), [&](const toml::node& element) {
    const auto value = element.value_exact<std::string>();
    if (!value) wrong(key, what);
    values.push_back(*value);
  });
  return values;
}

std::vector<std::size_t> TomlTable::counts(const char* key, std::vector<std::size_t> otherwise) {
  const void* node = find(key);
  if (node == nullptr) return otherwise;
  std::vector<std::size_t> values;
  for_elements(node_at(node), [&](const toml::node& element) {
    const auto value = element.value_exact<std::int64_t>();
    if (!value || *value < 0) wrong(key, "whole numbers, 0 or more");
    values.push_back(static_cast<std::size_t>(*value));
  });
  return values;
}

std::vector<double> TomlTable::numbers(const char* key) {
  const void* node = find(key);
  if (node == nullptr) return {};
  std::vector<double> values;
  for_elements(node_at(node), [&](const toml::node& element) {
    const auto value = element.value<double>();  // also from a whole number
    if (!value || !element.is_number() || !std::isfinite(*value)) wrong(key, "numbers");
    values.push_back(*value);
  });
  return values;
}

std::optional<std::size_t> TomlTable::choice(const char* key, const std::vector<std::string_view>& words) {
  const auto value = text(key, "a word");
  if (!value) return std::nullopt;
  std::string list;
  std::size_t i = 0;
  for (const auto word : words) {
    if (*value == word) return i;
    list += (i++ == 0 ? "" : ", ") + std::string(word);
  }
  wrong(key, list);
}

TomlTable TomlTable::table(const char* key) {
  const void* node = find(key);
  const toml::table* found = nullptr;
  if (node != nullptr) {
    found = node_at(node).as_table();
    if (found == nullptr) wrong(key, "a table");
  }
  return {root_, found, key, file_};
}

std::vector<TomlTable> TomlTable::tables(const char* key) {
  const void* node = find(key);
  if (node == nullptr) return {};
  const auto* array = node_at(node).as_array();
  if (array == nullptr) wrong(key, fmt::format("tables, each written as [[{}]]", key));
  std::vector<TomlTable> list;
  for (const auto& element : *array) {
    const toml::table* found = element.as_table();
    if (found == nullptr) wrong(key, fmt::format("tables, each written as [[{}]]", key));
    list.push_back(TomlTable(root_, found, key, file_));
  }
  return list;
}

std::vector<std::string> TomlTable::keys() const {
  std::vector<std::string> names;
  if (table_ == nullptr) return names;
  for (const auto& [key, node] : table_at(table_)) names.emplace_back(key.str());
  return names;
}

void TomlTable::refuse_unknown() const {
  if (table_ == nullptr) return;
  for (const auto& [key, node] : table_at(table_)) {
    if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
    std::string names;
    for (const auto& name : known_) names += (names.empty() ? "" : ", ") + name;
    failure("{}: line {}: there is no '{}' {}; there are {}", file_, node.source().begin.line, key.str(),
            name_.empty() ? "at the top" : "in [" + name_ + "]", names);
  }
}

}  // namespace bdnn
