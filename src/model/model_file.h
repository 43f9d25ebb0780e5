// What the library itself needs of the model file.
#pragma once

#include <string_view>

#include "bdnn/model.h"

namespace bdnn {

class OutputFile;

// Writes the model to a file that is open already, and commits it.
void save_model(const Model& model, OutputFile& file);

// Whether these first bytes of a file may be a model's.
bool looks_like_model(std::string_view head);

}  // namespace bdnn
