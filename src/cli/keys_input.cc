#include "cli/keys_input.h"

#include <charconv>

#include "base/error.h"
#include "bdnn/vectors.h"
#include "data/text_lines.h"

namespace bdnn::cli {

void add_key_options(Verb verb, KeyArguments& arguments, const std::string& of_what, const std::string& prefix) {
  const Option ids = verb.text(prefix + "ids", arguments.ids_file, "File with the ids of " + of_what);
  verb.text(prefix + "names", arguments.names_file, "Text file with the names of " + of_what + ", one per line")
      .excludes(ids);
}

IndexKeys keys_from(const KeyArguments& arguments) {
  IndexKeys keys;
  if (!arguments.names_file.empty()) keys.names = load_names(arguments.names_file);
  if (!arguments.ids_file.empty()) keys.ids = load_ids(arguments.ids_file);
  return keys;
}

IndexKeys keys_from(const KeyArguments& arguments, const VectorsFile& data) {
  if (data.columns.id.empty()) return keys_from(arguments);
  if (!arguments.ids_file.empty() || !arguments.names_file.empty()) {
    misuse("give either --id-column or a file of --ids or --names");
  }
  IndexKeys keys;
  keys.names = load_column(data.path, data.columns.id);
  for (const std::string& name : keys.names) {
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error != std::errc() || end != name.data() + name.size()) {
      keys.ids.clear();
      return keys;
    }
    keys.ids.push_back(id);
  }
  keys.names.clear();
  return keys;
}

}  // namespace bdnn::cli
