#include "cli/codes_input.h"

#include "base/error.h"
#include "cli/command.h"
#include "codes/codes_file.h"

namespace bdnn::cli {

Codes encode_named(const Model& model, const Vectors& vectors, const std::string& path, int threads) {
  try {
    return encode(model, vectors, threads);
  } catch (const Error& error) {
    throw Error(error.kind(), path + ": " + error.what());
  }
}

Codes codes_from(const std::string& path, const std::optional<Model>& model, int threads) {
  if (is_codes_file(path)) {
    Codes codes = load_codes(path);
    if (model && !codes.origin().model.empty() && codes.origin().model != fingerprint(*model)) {
      misuse("{} was encoded by model {}, not by the given one ({})", path, codes.origin().model, fingerprint(*model));
    }
    return codes;
  }
  if (model) return encode_named(*model, load_vectors(path), path, threads);
  return load_codes(path);
}

std::vector<std::int64_t> labels_from(const std::string& path, std::size_t count, const std::string& of) {
  if (path.empty()) return {};
  auto labels = load_labels(path);
  if (labels.size() != count) {
    misuse("{} has {} labels for {} vectors in {}; give one label per vector", path, with_commas(labels.size()),
           with_commas(count), of);
  }
  return labels;
}

}  // namespace bdnn::cli
