#include "cli/keys_input.h"

#include <charconv>

#include "base/error.h"
#include "base/files.h"
#include "bdnn/vectors.h"

namespace bdnn::cli {
namespace {

constexpr std::uint64_t kMostText = std::uint64_t{1} << 36;

std::vector<std::string> lines_of(const std::string& path) {
  const std::string text = read_whole_file(path, kMostText);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  std::vector<std::string> lines;
  for (std::size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (lines.back().ends_with('\r')) lines.back().pop_back();
    if (lines.back().empty()) misuse("{}: line {} is empty; write one name per line", path, lines.size());
    at = end + 1;
  }
  return lines;
}

}  // namespace

void add_key_options(Verb verb, KeyArguments& arguments, const std::string& of_what, const std::string& prefix) {
  const Option ids = verb.text(prefix + "ids", arguments.ids_file, "File with the ids of " + of_what);
  verb.text(prefix + "names", arguments.names_file, "Text file with the names of " + of_what + ", one per line")
      .excludes(ids);
}

IndexKeys keys_from(const KeyArguments& arguments) {
  IndexKeys keys;
  if (!arguments.names_file.empty()) keys.names = lines_of(arguments.names_file);
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
