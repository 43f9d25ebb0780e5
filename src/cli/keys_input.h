// Keys of an index as the verbs take them.
#pragma once

#include <string>
#include <vector>

#include "bdnn/index.h"
#include "bdnn/vectors.h"
#include "cli/command.h"

namespace bdnn::cli {

// The files that keys come from; "" if not given.
struct KeyArguments {
  std::string ids_file;
  std::string names_file;
};
// --ids and --names, or with a prefix: --rerank-ids and --rerank-names.
void add_key_options(Verb verb, KeyArguments& arguments, const std::string& of_what, const std::string& prefix = "--");

// Ids from a file of integers in any format that labels have, or names from a text file, one per line.
IndexKeys keys_from(const KeyArguments& arguments);

// The same, or the keys in the id column of a CSV file: ids if all of its cells are whole numbers, else names.
IndexKeys keys_from(const KeyArguments& arguments, const VectorsFile& data);

}  // namespace bdnn::cli
