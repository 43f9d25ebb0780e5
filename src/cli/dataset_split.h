// bdnn dataset split, which draws a protocol's split.
#pragma once

#include "cli/command_line.h"

namespace bdnn::cli {

void add_dataset_split(Verb dataset);

}  // namespace bdnn::cli
