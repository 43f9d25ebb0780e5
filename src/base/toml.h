// TOML, read. Only toml.cc includes the TOML library, which takes long to compile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bdnn {

// One table of a file: reads its keys by name, and refuses keys that nobody read. A value of another type, and an
// unknown key, raise Error with the file's name and the line. Missing keys give nullopt or the value `otherwise`.
class TomlTable {
 public:
  // The whole of a text; `name` is for messages.
  static TomlTable parse(const std::string& text, const std::string& name);

  bool exists() const { return table_ != nullptr; }

  std::optional<std::string> text(const char* key, const char* what = "a string");
  std::optional<bool> flag(const char* key);
  std::size_t count(const char* key, std::size_t otherwise);
  // Lists; one element may stand in place of a list.
  std::optional<std::vector<std::string>> texts(const char* key, const char* what = "a string, or a list of strings");
  std::vector<std::size_t> counts(const char* key, std::vector<std::size_t> otherwise);
  std::vector<double> numbers(const char* key);

  // One of a few words; its position in the list.
  std::optional<std::size_t> choice(const char* key, const std::vector<std::string_view>& words);

  // One of a few values, by its name.
  template <class Value, std::size_t count>
  std::optional<Value> choice_of(const char* key, const Value (&values)[count]) {
    std::vector<std::string_view> names;
    for (const Value value : values) names.push_back(name_of(value));
    const auto at = choice(key, names);
    return at ? std::optional(values[*at]) : std::nullopt;
  }

  TomlTable table(const char* key);                // [key]; does not exist() if it is missing
  std::vector<TomlTable> tables(const char* key);  // each [[key]]
  std::vector<std::string> keys() const;           // sorted

  void refuse_unknown() const;

  // Raises Error: `key`, in its line (or that of the table, if it is missing), must be `what`.
  [[noreturn]] void wrong(const char* key, const std::string& what) const;

 private:
  struct Node;  // of the library
  TomlTable(std::shared_ptr<const Node> root, const void* table, std::string name, std::string file);

  const void* find(const char* key);

  std::shared_ptr<const Node> root_;  // the document that contains table_
  const void* table_;
  std::string name_;
  std::string file_;
  std::vector<std::string> known_;
};

}  // namespace bdnn
