#include <fmt/format.h>

#include <array>

#include "base/files.h"
#include "bdnn/bdnn.h"
#include "cli/command.h"
#include "codes/codes_file.h"
#include "data/summary.h"
#include "hash/model_file.h"

namespace bdnn::cli {
namespace {

using nlohmann::ordered_json;

bool is_model_file(const std::string& path) {
  const InputFile file(path);
  std::string head(64, '\0');
  head.resize(file.read_some_at(0, std::as_writable_bytes(std::span(head))));
  return path.ends_with(".bdnn") || looks_like_model(head);
}

ordered_json inspect_model(const std::string& path) {
  const Model model = load_model(path);
  auto layers = ordered_json::array();
  for (const auto& layer : std::get<Network>(model.function).layers) {
    layers.push_back(fmt::format("{} -> {} {}", layer.inputs, layer.outputs,
                                 layer.activation == Activation::sigmoid ? "sigmoid" : "identity"));
  }
  return {{"kind", "model"},
          {"method", model.record.method},
          {"bits", model.bits()},
          {"dimension", model.dimension()},
          {"layers", layers},
          {"trained on", model.record.data},
          {"samples", model.record.samples},
          {"seed", model.record.seed},
          {"options", model.record.options},
          {"program", model.record.program},
          {"fingerprint", fingerprint(model)}};
}

ordered_json inspect_codes(const std::string& path) {
  const Codes codes = load_codes(path);  // verifies the checksum
  return {{"kind", "codes"},
          {"count", codes.size()},
          {"bits", codes.bits()},
          {"bytes per code", codes.bytes_per_code()},
          {"method", codes.origin().method},
          {"model", codes.origin().model},
          {"checksum", "verified"}};
}

ordered_json inspect_vectors(const std::string& path) {
  const VectorsSummary summary = summarize_vectors(path);
  ordered_json out = {{"kind", "vectors"},
                      {"format", summary.format},
                      {"count", summary.shape.count},
                      {"dimension", summary.shape.dimension},
                      {"element", name_of(summary.shape.element)},
                      {"least", summary.least},
                      {"most", summary.most},
                      {"mean", summary.mean},
                      {"mean norm", summary.mean_norm},
                      {"constant dimensions", summary.constant_dimensions},
                      {"not finite", summary.not_finite}};
  if (summary.not_finite > 0) {
    out["first not finite"] = {{"row", summary.first_not_finite_row}, {"column", summary.first_not_finite_column}};
  }
  return out;
}

void inspect_verb(const std::string& path, bool json) {
  std::string file = path;
  const ordered_json out = file.find(':') == std::string::npos && is_codes_file(path)   ? inspect_codes(path)
                           : file.find(':') == std::string::npos && is_model_file(path) ? inspect_model(path)
                                                                                        : inspect_vectors(path);
  if (json) {
    print_json(out);
    return;
  }
  for (const auto& [key, value] : out.items()) {
    const std::string text = value.is_number_unsigned() && key != "seed" ? with_commas(value.get<std::uint64_t>())
                             : value.is_number_float()                   ? fmt::format("{:.6g}", value.get<double>())
                             : value.is_string()                         ? value.get<std::string>()
                                                                         : value.dump();
    if (!text.empty()) fmt::print("{:<20} {}\n", key, text);
  }
}

}  // namespace

void add_inspect(CLI::App& app) {
  struct Arguments {
    std::string file;
    bool json = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = add_verb(app, "inspect", "Say what a file holds: vectors, codes or a model",
                            "  bdnn inspect base.fvecs\n  bdnn inspect m.bdnn\n  bdnn inspect glove.hdf5:test --json");
  verb->add_option("file", arguments->file, "The file; FILE:NAME for one dataset of HDF5 or MATLAB")->required();
  add_json_option(verb, arguments->json);
  verb->callback([arguments] { inspect_verb(arguments->file, arguments->json); });
}

}  // namespace bdnn::cli
