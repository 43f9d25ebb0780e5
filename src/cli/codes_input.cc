#include "cli/codes_input.h"

#include <fmt/format.h>

#include "base/error.h"
#include "codes/codes_file.h"
#include "data/format.h"
#include "search/index_format.h"

namespace bdnn::cli {
namespace {

std::string said_of_rank(RankBy rank) {
  switch (rank) {
    case RankBy::hamming: return " (default)";
    case RankBy::spherical: return " (bits that differ, divided by bits set in both\ncodes)";
    case RankBy::asymmetric: return " (from the query's outputs before the sign to the code)";
    case RankBy::reconstruction: return " (from the query\nto the vector rebuilt from the code)";
  }
  return "";
}

}  // namespace

CodesOptions add_codes_options(Verb verb, EncodeOptions& options) {
  const Option codes =
      verb.text(
              "--codes", [&options](const std::string& which) { options.refined = which == "refined"; },
              "Codes of the vectors: hash, the signs of the hash function (default), or refined, chosen so that the\n"
              "decoder rebuilds the vectors best")
          .one_of({"hash", "refined"});
  const Option local_search =
      verb.integer("--local-search", options.local_search,
                   "For refined codes: rounds of search beyond the first local minimum; more is slower and better")
          .range(0, 1000000)
          .shows_default();
  return {codes, local_search};
}

void CodesOptions::check(const EncodeOptions& options, const std::string& path) const {
  if (!options.refined) refuse({local_search}, "without --codes refined");
  if (!codes.given() || path.empty() || !is_codes_file(path)) return;
  const bool refined = read_codes_header(path).origin.refined;
  if (refined != options.refined) {
    misuse("{} already holds codes, which are {}; give vectors to use --codes {}", path,
           refined ? "refined" : "not refined", options.refined ? "refined" : "hash");
  }
  refuse({local_search}, fmt::format("to {}, which already holds codes", path));
}

void add_rank_option(Verb verb, RankBy& rank) {
  verb.text(
      "--rank", [&rank](const std::string& name) { rank = rank_by_name(name); },
      "Distance to rank by: " + alternatives(kAllRanks, said_of_rank));
}

Vectors query_vectors_from(const VectorsFile& file, const std::optional<Model>& model, RankBy rank) {
  if (!model) misuse("--rank {} needs --model", name_of(rank));
  if (is_codes_file(file.path)) misuse("{} holds codes; --rank {} needs vectors as queries", file.path, name_of(rank));
  return vectors_for(*model, file);
}

Vectors vectors_for(const Model& model, const VectorsFile& file) {
  const Vectors vectors = load_vectors(file);
  const Shape& shape = vectors.shape();
  if (shape.dimension != 1 || model.dimension() == 1 || shape.count != model.dimension()) return vectors;
  return {{shape.count, 1, shape.element}, {std::make_shared<Vectors>(vectors), vectors.data()}};
}

Codes encode_named(const Model& model, const Vectors& vectors, const std::string& path, const EncodeOptions& options) {
  return with_name(path, [&] { return encode(model, vectors, options); });
}

Codes codes_from(const VectorsFile& file, const std::optional<Model>& model, const EncodeOptions& options) {
  const std::string& path = file.path;
  if (split_source_name(path).part.empty() && is_index_file(path)) misuse("{} is an index; give it as --index", path);
  if (is_codes_file(path)) {
    Codes codes = load_codes(path);
    if (model) with_name(path, [&] { check_codes_match(*model, codes); });
    return codes;
  }
  if (model) return encode_named(*model, vectors_for(*model, file), path, options);
  if (options.refined) misuse("--codes refined needs a --model with a decoder");
  if (!path.ends_with(".codes") && open_vectors(file)->shape().element != Element::u8) {
    misuse("{} holds vectors, not codes; give --model, the model that encodes them", path);
  }
  return load_codes(path);
}

std::vector<std::int64_t> labels_from(const VectorsFile& file, std::size_t count, const std::string& of,
                                      LabelNames* names) {
  if (file.path.empty()) return {};
  auto labels = load_labels(file, names);
  if (labels.size() != count) {
    misuse("{} has {} labels for {} vectors in {}; give one label per vector", file.path, with_commas(labels.size()),
           with_commas(count), of);
  }
  return labels;
}

}  // namespace bdnn::cli
