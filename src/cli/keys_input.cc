#include "cli/keys_input.h"

#include "base/error.h"
#include "base/files.h"
#include "bdnn/vectors.h"

namespace bdnn::cli {
namespace {

constexpr std::uint64_t kMostText = std::uint64_t{1} << 36;

std::vector<std::string> lines_of(const std::string& path) {
  const std::string text = read_whole_file(path, kMostText);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (lines.back().ends_with('\r')) lines.back().pop_back();
    if (lines.back().empty()) misuse("{}: line {} is empty; write one name per line", path, lines.size());
    at = end + 1;
  }
  return lines;
}

}  // namespace

void add_key_options(Verb verb, KeyArguments& arguments, const std::string& of_what) {
  const Option ids = verb.text("--ids", arguments.ids_file, "File with the ids of " + of_what);
  verb.text("--names", arguments.names_file, "Text file with the names of " + of_what + ", one per line").excludes(ids);
}

IndexKeys keys_from(const KeyArguments& arguments) {
  IndexKeys keys;
  if (!arguments.names_file.empty()) keys.names = lines_of(arguments.names_file);
  if (arguments.ids_file.empty()) return keys;
  for (const std::int64_t id : load_integers(arguments.ids_file)) {
    if (id < 0) misuse("{}: holds the id {}; ids are not negative", arguments.ids_file, id);
    keys.ids.push_back(static_cast<std::uint64_t>(id));
  }
  return keys;
}

}  // namespace bdnn::cli
