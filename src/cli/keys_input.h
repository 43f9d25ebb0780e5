// Keys of an index as the verbs take them.
#pragma once

#include <string>
#include <vector>

#include "bdnn/index.h"
#include "cli/command.h"

namespace bdnn::cli {

// Where keys come from; empty where they do not.
struct KeyArguments {
  std::string ids_file;
  std::string names_file;
};
void add_key_options(Verb verb, KeyArguments& arguments, const std::string& of_what);

// Ids from a file of integers in any format that labels have, or names from a text file, one per line.
IndexKeys keys_from(const KeyArguments& arguments);

}  // namespace bdnn::cli
