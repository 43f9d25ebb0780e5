#include "cli/index_input.h"

#include <fmt/format.h>

#include "cli/command.h"

namespace bdnn::cli {

Index open_index(const std::string& path) {
  return with_salvage_hint(path, [&] {
    Index index = Index::open(path);
    for (const std::string& warning : index.info().warnings) {
      say(fmt::format("bdnn: warning: {}: {}\n", printable(path), warning));
    }
    return index;
  });
}

}  // namespace bdnn::cli
