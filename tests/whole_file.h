#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace bdnn::testing {

// A file as it stands, for tests that damage it.
inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

}  // namespace bdnn::testing
