// Enumerators by name. An enumeration has two lists, of its values in its public header and of their names beside its
// name_of(); messages and help take the names from there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace bdnn {

template <class Value, std::size_t count>
std::vector<std::string> names_of(const Value (&values)[count]) {
  std::vector<std::string> names;
  for (const Value value : values) names.emplace_back(name_of(value));
  return names;
}

// "a, b and c", or with another word before the last.
inline std::string in_a_row(const std::vector<std::string>& names, std::string_view word = "and") {
  std::string row;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) row += i + 1 < names.size() ? ", " : fmt::format(" {} ", word);
    row += names[i];
  }
  return row;
}

// The value of this name; an unknown one raises Error, which calls it a `what` and lists the valid ones.
template <class Value, std::size_t count>
Value by_name(const Value (&values)[count], std::string_view name, std::string_view what) {
  for (const Value value : values) {
    if (name_of(value) == name) return value;
  }
  misuse("unknown {} '{}'; choose {}", what, name, in_a_row(names_of(values), "or"));
}

}  // namespace bdnn
