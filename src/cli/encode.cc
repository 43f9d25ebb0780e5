#include <fmt/format.h>

#include "bdnn/bdnn.h"
#include "cli/codes_input.h"
#include "cli/csv_input.h"
#include "cli/outputs.h"

namespace bdnn::cli {
namespace {

struct EncodeArguments {
  std::string model;
  std::string data;
  std::string out;
  EncodeOptions options;
  CsvInput csv;
  bool json = false;
};

void encode_verb(const EncodeArguments& arguments) {
  check_outputs({{"--out", arguments.out}}, {{"--model", arguments.model}, {"--data", arguments.data}});
  const Model model = load_model(arguments.model);
  const auto progress = make_progress();
  const Stopwatch watch;
  const std::size_t count =
      encode_file(model, arguments.csv.file(arguments.data), arguments.out, arguments.options, *progress);
  const double seconds = watch.seconds();
  output_stands_now();
  if (arguments.json) {
    print_json({{"codes", arguments.out},
                {"count", count},
                {"bits", model.bits()},
                {"refined", arguments.options.refined},
                {"model", fingerprint(model)},
                {"encode_seconds", seconds},
                {"peak_memory_bytes", peak_memory()}});
    return;
  }
  fmt::print("{}: {} {}codes of {} bits; {:.2f} s, {:.0f} MB at most\n", printable(arguments.out), with_commas(count),
             arguments.options.refined ? "refined " : "", model.bits(), seconds,
             static_cast<double>(peak_memory()) / 1e6);
}

}  // namespace

void add_encode(Verb program) {
  const auto arguments = std::make_shared<EncodeArguments>();
  Verb verb = add_verb(program, "encode", "Encode vectors as binary codes, in constant memory",
                       "  bdnn encode --model m.bdnn --data x.npy --out x.codes\n"
                       "  bdnn encode --model m.bdnn --data base.fvecs --out base.npy      (for NumPy)\n"
                       "  bdnn encode --model m.bdnn --data base.fvecs --out base.codes --codes refined\n"
                       "  bdnn encode --model m.bdnn --data flowers.csv --drop species --out flowers.codes\n\n"
                       "Refined codes minimise the reconstruction error and are for 'search --rank reconstruction';\n"
                       "for Hamming distance, the codes of the hash function are better.");
  verb.text("--model", arguments->model, "Model from 'bdnn train'").required();
  verb.text("--data", arguments->data, "Vectors to encode, in any supported format").required();
  verb.text("--out", arguments->out, "Output file: .codes, .npy or .bvecs").required();
  const CodesOptions codes = add_codes_options(verb, arguments->options);
  arguments->csv.add_options(verb);
  add_threads_option(verb, arguments->options.threads);
  add_json_option(verb, arguments->json);
  verb.runs([arguments, codes] {
    codes.check(arguments->options, "");
    arguments->csv.check({arguments->data});
    with_column_hint([&] { encode_verb(*arguments); });
  });
}

}  // namespace bdnn::cli
