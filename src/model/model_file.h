// The model file, apart from the file system; the fuzzer feeds parse_model() whatever it likes.
#pragma once

#include <string>
#include <string_view>

#include "bdnn/model.h"

namespace bdnn {

class OutputFile;

// Writes the model to a file that is open already, and commits it.
void save_model(const Model& model, OutputFile& file);

std::string serialize_model(const Model& model);

// `name` is what messages call it. Throws Error for anything but a valid model.
Model parse_model(std::string_view bytes, const std::string& name);

// Whether these first bytes of a file may be a model's.
bool looks_like_model(std::string_view head);

}  // namespace bdnn
