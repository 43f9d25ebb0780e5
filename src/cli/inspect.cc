#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "bdnn/bdnn.h"
#include "cli/command.h"
#include "codes/codes_file.h"
#include "codes/origin.h"
#include "data/format.h"
#include "data/summary.h"
#include "evaluate/diagnostics.h"
#include "model/model_file.h"

namespace bdnn::cli {
namespace {

using nlohmann::ordered_json;

bool is_model_file(const std::string& path) {
  if (!split_source_name(path).part.empty()) return false;
  const InputFile file(path);
  std::string head(64, '\0');
  head.resize(file.read_some_at(0, std::as_writable_bytes(std::span(head))));
  return path.ends_with(".bdnn") || looks_like_model(head);
}

std::string kind_of_decoder(const Model& model) {
  if (!model.decoder) return "none";
  return model.decoder->group == 1 ? "linear" : fmt::format("by groups of {} bits", model.decoder->group);
}

ordered_json inspect_model(const std::string& path) {
  const Model model = load_model(path);
  return {{"kind", "model"},
          {"method", model.record.method},
          {"bits", model.bits()},
          {"dimension", model.dimension()},
          {"layers", model.describe()},
          {"trained on", model.record.data},
          {"samples", model.record.samples},
          {"seed", model.record.seed},
          {"options", model.record.options},
          {"outcome", model.record.outcome},
          {"decoder", kind_of_decoder(model)},
          {"program", model.record.program},
          {"fingerprint", fingerprint(model)}};
}

struct Arguments {
  std::string file;
  std::string model;
  std::string data;
  bool brief = false;
  bool json = false;
  int threads = 0;
};

ordered_json inspect_codes(const Arguments& arguments) {
  const Codes codes = load_codes(arguments.file);  // verifies the checksum
  ordered_json out = {{"kind", "codes"},
                      {"count", codes.size()},
                      {"bits", codes.bits()},
                      {"bytes per code", codes.bytes_per_code()},
                      {"method", codes.origin().method},
                      {"model", codes.origin().model},
                      {"codes", kind_of_codes(codes.origin())},
                      {"checksum", "verified"}};
  if (arguments.brief) return out;
  const CodesDiagnostics found = diagnose_codes(codes, arguments.threads);
  const auto [least, most] = std::minmax_element(found.balance.begin(), found.balance.end());
  out["distinct codes"] = found.distinct;
  out["duplicates"] = found.duplicates;
  out["entropy"] = found.entropy;
  out["entropy of bits"] = found.bit_entropy;
  out["balance"] = found.balance;
  out["least balance"] = *least;
  out["most balance"] = *most;
  out["largest correlation"] = found.largest_correlation;
  out["largest correlation of"] = {found.largest_pair[0], found.largest_pair[1]};
  out["mean correlation"] = found.mean_correlation;
  out["distances"] = found.distances;
  out["mean distance"] = found.mean_distance;
  out["deviation of distances"] = found.distance_deviation;
  if (!arguments.model.empty() && !arguments.data.empty()) {
    const Model model = load_model(arguments.model);
    const auto quantization = diagnose_quantization(model, load_vectors(arguments.data), arguments.threads);
    out["mean |h|"] = quantization.mean_magnitude;
    out["quantization error"] = quantization.error;
  }
  if (!arguments.json) out["correlation of bits"] = "\n" + correlation_map(found);
  return out;
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

void inspect_verb(const Arguments& arguments) {
  const std::string& path = arguments.file;
  const ordered_json out = is_codes_file(path)   ? inspect_codes(arguments)
                           : is_model_file(path) ? inspect_model(path)
                                                 : inspect_vectors(path);
  if (arguments.json) {
    print_json(out);
    return;
  }
  const auto list = [](const ordered_json& values) {  // numbers in one line, short
    std::string text;
    for (const auto& value : values) text += fmt::format("{}{:.3g}", text.empty() ? "" : " ", value.get<double>());
    return text;
  };
  const auto shown = [](const std::string& key, const ordered_json& value) {  // the map has lines, the rest must not
    const auto text = value.get<std::string>();
    return key == "correlation of bits" ? text : printable(text);
  };
  for (const auto& [key, value] : out.items()) {
    const std::string text = value.is_number_unsigned() && key != "seed" ? with_commas(value.get<std::uint64_t>())
                             : value.is_number_float()                   ? fmt::format("{:.6g}", value.get<double>())
                             : value.is_string()                         ? shown(key, value)
                             : value.is_array() && !value.empty() && value[0].is_number() ? list(value)
                                                                                          : value.dump();
    if (!text.empty()) fmt::print("{:<20} {}\n", key, text);
  }
}

}  // namespace

void add_inspect(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb =
      add_verb(app, "inspect", "Say what a file holds: vectors, codes or a model",
               "  bdnn inspect base.fvecs\n"
               "  bdnn inspect m.bdnn\n"
               "  bdnn inspect glove.hdf5:test --json\n"
               "  bdnn inspect base.codes --model m.bdnn --data base.fvecs\n\n"
               "Of codes it shows the balance of each bit (share of ones), the correlation between bits, the "
               "entropy,\nduplicates and the distribution of distances; of a model and its data, how far its "
               "outputs are from binary.");
  verb->add_option("file", arguments->file, "The file; FILE:NAME for one dataset of HDF5 or MATLAB")->required();
  auto* model = verb->add_option("--model", arguments->model, "For codes: the model that made them ...");
  auto* data = verb->add_option("--data", arguments->data, "... and vectors to measure its outputs on");
  model->needs(data);
  data->needs(model);
  verb->add_flag("--brief", arguments->brief, "For codes: the header only");
  add_threads_option(verb, arguments->threads);
  add_json_option(verb, arguments->json);
  verb->callback([arguments] { inspect_verb(*arguments); });
}

}  // namespace bdnn::cli
