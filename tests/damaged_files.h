// Readers that are given damaged files (damaged_files.cc).
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bdnn::testing {

struct Reader {
  std::string name;
  std::string file;
  std::function<void(const std::string& path)> make;  // a sound file
  std::function<void(const std::string& path)> read;  // raises Error if it is not
};

// Vectors in every format, labels, codes, models.
std::vector<Reader> readers_of_vectors();

// Everything else but index files, which IndexDamageAtRandom damages.
std::vector<Reader> readers_of_documents();

}  // namespace bdnn::testing
