#include <fmt/format.h>

#include "base/error.h"
#include "bdnn/bdnn.h"
#include "cli/command.h"
#include "cli/csv_input.h"
#include "cli/outputs.h"

namespace bdnn::cli {
namespace {

struct DecodeArguments {
  std::string model;
  std::string codes;
  std::string out;
  std::string data;
  CsvInput csv;
  int threads = 0;
  bool json = false;
};

void decode_verb(const DecodeArguments& arguments) {
  if (arguments.out.empty() && arguments.data.empty()) {
    misuse("give --out to write the rebuilt vectors, --data to measure their error, or both");
  }
  check_outputs({{"--out", arguments.out}},
                {{"--model", arguments.model}, {"--codes", arguments.codes}, {"--data", arguments.data}});
  const Model model = load_model(arguments.model);
  const auto progress = make_progress();
  const Stopwatch watch;
  const ReconstructionError result = reconstruct_file(model, arguments.codes, arguments.out,
                                                      arguments.csv.file(arguments.data), arguments.threads, *progress);
  const double seconds = watch.seconds();
  if (arguments.data.empty()) output_stands_now();  // with --data, the printed error is part of the output too
  if (arguments.json) {
    Json json = {{"count", result.count}, {"dimension", model.dimension()}, {"decode_seconds", seconds}};
    if (!arguments.data.empty()) {
      json.add("error", result.error);
      json.add("variance", result.variance);
    }
    print_json(json);
    return;
  }
  fmt::print("{} vectors of dimension {} rebuilt; {:.2f} s\n", with_commas(result.count), model.dimension(), seconds);
  if (arguments.data.empty()) return;
  fmt::print("mean squared error {:.6g}, variance {:.6g}{}\n", result.error, result.variance,
             result.variance > 0 ? fmt::format(" ({:.2f} %)", 100 * result.error / result.variance) : "");
}

}  // namespace

void add_decode(Verb program) {
  const auto arguments = std::make_shared<DecodeArguments>();
  Verb verb = add_verb(program, "decode", "Rebuild vectors from codes and measure the reconstruction error",
                       "  bdnn decode --model m.bdnn --codes x.codes --out rebuilt.fvecs\n"
                       "  bdnn decode --model m.bdnn --codes x.codes --data x.fvecs --json");
  verb.text("--model", arguments->model, "Model that encoded the codes").required();
  verb.text("--codes", arguments->codes, "Codes from 'bdnn encode'").required();
  verb.text("--out", arguments->out, "Output file for the rebuilt vectors; the extension selects the format");
  verb.text("--data", arguments->data, "Original vectors, to measure the error");
  add_threads_option(verb, arguments->threads);
  add_json_option(verb, arguments->json);
  arguments->csv.add_options(verb);
  verb.runs([arguments] {
    arguments->csv.check({arguments->data});
    with_column_hint([&] { decode_verb(*arguments); });
  });
}

}  // namespace bdnn::cli
