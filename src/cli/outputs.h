// Outputs of the verbs: which files they must not overwrite, and whether a failure to print the report is an error.
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

// The paths of a protocol's data files in `folder`.
std::vector<NamedFile> files_of(const Protocol& protocol, const std::string& folder);

// Raises misuse if an output is one of the inputs or another output, through any path or link.
void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

// Marks the verb's output as written: later failures, such as a full standard output, are only warnings.
void output_stands_now();
bool output_stands();

}  // namespace bdnn::cli
