// Codes and labels as the verbs take them.
#pragma once

#include <optional>
#include <string>

#include "bdnn/bdnn.h"

namespace bdnn::cli {

// Codes as they stand in the file, or vectors made codes by the model. Codes of another model are refused.
Codes codes_from(const std::string& path, const std::optional<Model>& model, int threads);

// The same for vectors that are in memory already; `path` is what messages call them.
Codes encode_named(const Model& model, const Vectors& vectors, const std::string& path, int threads);

// One label for each of `count` vectors of the file `of`; none for an empty path.
std::vector<std::int64_t> labels_from(const std::string& path, std::size_t count, const std::string& of);

}  // namespace bdnn::cli
