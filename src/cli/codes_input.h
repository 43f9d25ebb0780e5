// Codes and labels as the verbs take them.
#pragma once

#include <optional>
#include <string>

#include "bdnn/bdnn.h"
#include "cli/command.h"

namespace bdnn::cli {

// --codes and --local-search: how vectors are encoded.
struct CodesOptions {
  Option codes;
  Option local_search;

  // Raises misuse if an option would have no effect: --local-search without refined codes, or either of them if the
  // file at `path` already holds codes, unless they are of the kind that --codes asks for.
  void check(const EncodeOptions& options, const std::string& path) const;
};
CodesOptions add_codes_options(Verb verb, EncodeOptions& options);

// --rank: the distance from queries to codes.
void add_rank_option(Verb verb, RankBy& rank);

// Loads codes, or loads vectors and encodes them with the model. Codes of another model raise Error.
Codes codes_from(const VectorsFile& file, const std::optional<Model>& model, const EncodeOptions& options);

// Loads vectors for a model. A column of model.dimension() numbers is one vector, not that many vectors of one number.
Vectors vectors_for(const Model& model, const VectorsFile& file);

// Encodes vectors that were read from `path`, which messages name.
Codes encode_named(const Model& model, const Vectors& vectors, const std::string& path, const EncodeOptions& options);

// Loads the queries of a distance that takes them as vectors, not as codes.
Vectors query_vectors_from(const VectorsFile& file, const std::optional<Model>& model, RankBy rank);

// Loads one label for each of the `count` vectors in the file `of`; an empty list if the path is empty.
std::vector<std::int64_t> labels_from(const VectorsFile& file, std::size_t count, const std::string& of,
                                      LabelNames* names = nullptr);

}  // namespace bdnn::cli
