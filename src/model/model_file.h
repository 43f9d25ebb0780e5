// Model files, as used inside the library.
#pragma once

#include <string_view>

#include "bdnn/model.h"

namespace bdnn {

class OutputFile;

// Writes the model to an open file, and commits it.
void save_model(const Model& model, OutputFile& file);

// Whether a file with these first bytes may be a model.
bool looks_like_model(std::string_view head);

}  // namespace bdnn
