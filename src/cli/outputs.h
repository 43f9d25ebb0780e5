// Outputs of the verbs: what they must not overwrite, and what it means when a report of them cannot be printed.
#pragma once

#include <string>
#include <vector>

#include "bdnn/protocol.h"

namespace bdnn::cli {

// A file and the option that named it.
struct NamedFile {
  std::string option;
  std::string path;  // perhaps FILE:NAME; empty if the option was not given
};

// The data files of a protocol, in the folder that they are looked for in.
std::vector<NamedFile> files_of(const Protocol& protocol, const std::string& folder);

// Raises misuse if an output is one of the inputs or another output, by whatever path or link.
void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

// The verb has written what it was to write: what goes wrong from here on, such as a full standard output, is a
// warning.
void output_stands_now();
bool output_stands();

}  // namespace bdnn::cli
