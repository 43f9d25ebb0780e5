// Codes and labels as the verbs take them.
#pragma once

#include <optional>
#include <string>

#include "bdnn/bdnn.h"
#include "cli/command.h"

namespace bdnn::cli {

// --codes and --local-search: which codes vectors become.
struct CodesOptions {
  Option codes;
  Option local_search;

  // Raises misuse where an option would change nothing: --local-search without refined codes, or either of them if the
  // file at `path` holds codes already, unless these are what --codes asks for.
  void check(const EncodeOptions& options, const std::string& path) const;
};
CodesOptions add_codes_options(Verb verb, EncodeOptions& options);

// --rank: what makes a code near to a query.
void add_rank_option(Verb verb, RankBy& rank);

// Codes as they stand in the file, or vectors made codes by the model. Codes of another model are refused.
Codes codes_from(const VectorsFile& file, const std::optional<Model>& model, const EncodeOptions& options);

// Vectors for a model. A file of as many numbers as the model takes is one vector, not as many of one number.
Vectors vectors_for(const Model& model, const VectorsFile& file);

// The same for vectors that are in memory already; `path` is what messages call them.
Codes encode_named(const Model& model, const Vectors& vectors, const std::string& path, const EncodeOptions& options);

// Queries that are ranked for as they are: vectors, not codes.
Vectors query_vectors_from(const VectorsFile& file, const std::optional<Model>& model, RankBy rank);

// One label for each of `count` vectors of the file `of`; none for an empty path.
std::vector<std::int64_t> labels_from(const VectorsFile& file, std::size_t count, const std::string& of,
                                      LabelNames* names = nullptr);

}  // namespace bdnn::cli
