#include "cli/outputs.h"

#include <filesystem>

#include "base/error.h"
#include "data/format.h"

namespace bdnn::cli {
namespace {

bool stands = false;

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;  // a missing or unreadable file is reported later
  if (std::filesystem::is_regular_file(a, error)) return std::filesystem::equivalent(a, b, error);
  return std::filesystem::weakly_canonical(a, error) == std::filesystem::weakly_canonical(b, error) &&
         !std::filesystem::exists(a, error);
}

}  // namespace

std::vector<NamedFile> files_of(const Protocol& protocol, const std::string& folder) {
  std::vector<NamedFile> all;
  for (const Protocol::Part* part : {&protocol.train, &protocol.database, &protocol.queries, &protocol.collection}) {
    for (const auto* files : {&part->vectors, &part->labels}) {
      for (const std::string& file : *files) all.push_back({"the protocol", folder + "/" + file});
    }
  }
  return all;
}

void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const NamedFile& output = outputs[i];
    if (output.path.empty()) continue;
    for (const NamedFile& input : inputs) {
      if (input.path.empty() || !is_same_file(output.path, split_source_name(input.path).file)) continue;
      misuse("{} would overwrite the input of {}, {}; name another file", output.option, input.option, input.path);
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (outputs[j].path.empty() || !is_same_file(output.path, outputs[j].path)) continue;
      misuse("{} and {} are the same file, {}; name two", outputs[j].option, output.option, output.path);
    }
  }
}

void output_stands_now() { stands = true; }

bool output_stands() { return stands; }

}  // namespace bdnn::cli
