#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "bdnn/bdnn.h"
#include "cli/command.h"
#include "cli/csv_input.h"
#include "cli/index_input.h"
#include "codes/codes_file.h"
#include "codes/origin.h"
#include "data/format.h"
#include "data/summary.h"
#include "model/model_file.h"
#include "search/index_format.h"

namespace bdnn::cli {
namespace {

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

// Named facts about a file, as text and as JSON. Text output leaves out facts with an empty text.
class Facts {
 public:
  void text(const char* name, const std::string& value) { add(name, printable(value), value); }
  void count(const char* name, std::uint64_t value) { add(name, with_commas(value), value); }
  void number(const char* name, double value) { add(name, fmt::format("{:.6g}", value), value); }
  void json(const char* name, const Json& value) { add(name, value.text(), value); }

  template <class Values>
  void numbers(const char* name, const Values& values) {
    std::string shown;
    for (const auto value : values) {
      shown += fmt::format("{}{:.3g}", shown.empty() ? "" : " ", static_cast<double>(value));
    }
    add(name, shown, Json::array(values));
  }

  void add(const char* name, std::string shown, const Json& value) {
    lines_.emplace_back(name, std::move(shown));
    json_.add(name, value);
  }

  void print(bool json) const {
    if (json) return print_json(json_);
    for (const auto& [name, text] : lines_) {
      if (!text.empty()) fmt::print("{:<20} {}\n", name, text);
    }
  }

 private:
  std::vector<std::pair<const char*, std::string>> lines_;
  Json json_ = Json::object();
};

Facts inspect_model(const std::string& path) {
  const Model model = load_model(path);
  Facts facts;
  facts.text("kind", "model");
  facts.text("method", model.record.method);
  facts.count("bits", model.bits());
  facts.count("dimension", model.dimension());
  facts.json("layers", Json::array(model.describe()));
  facts.text("trained on", model.record.data);
  facts.count("samples", model.record.samples);
  facts.json("seed", model.record.seed);
  facts.json("options", model.record.options);
  facts.text("outcome", model.record.outcome);
  facts.text("decoder", kind_of_decoder(model));
  facts.text("program", model.record.program);
  facts.text("fingerprint", fingerprint(model));
  return facts;
}

Facts inspect_index(const std::string& path) {
  const IndexInfo info = open_index(path).info();
  Facts facts;
  facts.text("kind", "index");
  facts.count("count", info.size);
  facts.count("bits", info.bits);
  facts.text("keys", info.names ? "names" : "ids");
  facts.text("method", info.origin.method);
  facts.text("model", info.origin.model);
  facts.text("codes", kind_of_codes(info.origin));
  facts.count("segments", info.segments);
  facts.count("tables", info.tables);
  facts.text("tables are built", std::string(name_of(info.tables_choice)));
  facts.count("removed", info.removed);
  facts.count("bytes", info.bytes);
  facts.count("unused bytes", info.unused);
  facts.number("share with an equal", info.duplicates);
  return facts;
}

struct InspectArguments {
  std::string file;
  std::string model;
  std::string data;
  CsvInput csv;
  bool brief = false;
  bool json = false;
  int threads = 0;
};

Facts inspect_codes(const InspectArguments& arguments) {
  const Codes codes = load_codes(arguments.file);  // verifies the checksum
  Facts facts;
  facts.text("kind", "codes");
  facts.count("count", codes.size());
  facts.count("bits", codes.bits());
  facts.count("bytes per code", codes.bytes_per_code());
  facts.text("method", codes.origin().method);
  facts.text("model", codes.origin().model);
  facts.text("codes", kind_of_codes(codes.origin()));
  facts.text("checksum", "verified");
  if (arguments.brief) return facts;
  const CodesDiagnostics found = diagnose_codes(codes, arguments.threads);
  const auto [least, most] = std::minmax_element(found.balance.begin(), found.balance.end());
  facts.count("distinct codes", found.distinct);
  facts.count("duplicates", found.duplicates);
  facts.number("entropy", found.entropy);
  facts.number("entropy of bits", found.bit_entropy);
  facts.numbers("balance", found.balance);
  facts.number("least balance", *least);
  facts.number("most balance", *most);
  facts.number("largest correlation", found.largest_correlation);
  facts.numbers("largest correlation of", found.largest_pair);
  facts.number("mean correlation", found.mean_correlation);
  facts.numbers("distances", found.distances);
  facts.number("mean distance", found.mean_distance);
  facts.number("deviation of distances", found.distance_deviation);
  if (!arguments.model.empty() && !arguments.data.empty()) {
    const Model model = load_model(arguments.model);
    if (!model.has_outputs()) misuse("{} has no outputs before the sign to measure; leave --data out", arguments.model);
    const auto quantization =
        diagnose_quantization(model, load_vectors(arguments.csv.file(arguments.data)), arguments.threads);
    facts.number("mean |h|", quantization.mean_magnitude);
    facts.number("quantization error", quantization.error);
  }
  if (!arguments.json) facts.add("correlation of bits", fmt::format("\n{}", correlation_map(found)), "");
  return facts;
}

Facts inspect_vectors(const VectorsFile& file) {
  const VectorsSummary summary = summarize_vectors(file);
  Facts facts;
  facts.text("kind", "vectors");
  facts.text("format", summary.format);
  facts.count("count", summary.shape.count);
  facts.count("dimension", summary.shape.dimension);
  facts.text("element", std::string(name_of(summary.shape.element)));
  facts.number("least", summary.least);
  facts.number("most", summary.most);
  facts.number("mean", summary.mean);
  facts.number("mean norm", summary.mean_norm);
  facts.count("constant dimensions", summary.constant_dimensions);
  facts.count("not finite", summary.not_finite);
  if (summary.not_finite > 0) {
    facts.json("first not finite",
               {{"row", summary.first_not_finite_row}, {"column", summary.first_not_finite_column}});
  }
  return facts;
}

void inspect_verb(const InspectArguments& arguments, const Option& model, const Option& data, const Option& brief) {
  const std::string& path = arguments.file;
  const bool codes = is_codes_file(path);
  if (!codes) refuse({model, data, brief}, "to a file that holds no codes");
  if (brief.given()) refuse({model, data}, "with --brief, which measures nothing");
  const bool index = !codes && split_source_name(path).part.empty() && is_index_file(path);
  const Facts facts = codes                 ? inspect_codes(arguments)
                      : index               ? inspect_index(path)
                      : is_model_file(path) ? inspect_model(path)
                                            : inspect_vectors(arguments.csv.file(path));
  facts.print(arguments.json);
}

}  // namespace

void add_inspect(Verb program) {
  const auto arguments = std::make_shared<InspectArguments>();
  Verb verb =
      add_verb(program, "inspect", "Show what a file holds: vectors, codes, a model or an index",
               "  bdnn inspect base.fvecs\n"
               "  bdnn inspect m.bdnn\n"
               "  bdnn inspect db.index\n"
               "  bdnn inspect glove.hdf5:test --json\n"
               "  bdnn inspect base.codes --model m.bdnn --data base.fvecs\n\n"
               "For codes: the balance of each bit (share of ones), the correlation between bits, the entropy,\n"
               "duplicates and the distribution of distances; with --model and --data, the quantization error too.");
  verb.text("file", arguments->file, "Input file; FILE:NAME selects a dataset of an HDF5 or MATLAB file").required();
  Option model = verb.text("--model", arguments->model,
                           "For codes: model that encoded them, to measure its quantization error on --data");
  Option data = verb.text("--data", arguments->data, "For codes: vectors to measure the quantization error on");
  model.needs(data);
  data.needs(model);
  const Option brief = verb.flag("--brief", arguments->brief, "For codes: show the header only");
  add_threads_option(verb, arguments->threads);
  add_json_option(verb, arguments->json);
  arguments->csv.add_options(verb);
  verb.runs([arguments, model, data, brief] {
    arguments->csv.check({arguments->file, arguments->data});
    with_column_hint([&] { inspect_verb(*arguments, model, data, brief); });
  });
}

}  // namespace bdnn::cli
