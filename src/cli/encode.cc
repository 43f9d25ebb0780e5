#include <fmt/format.h>

#include "bdnn/bdnn.h"
#include "cli/codes_input.h"

namespace bdnn::cli {
namespace {

struct Arguments {
  std::string model;
  std::string data;
  std::string out;
  EncodeOptions options;
  bool json = false;
};

void encode_verb(const Arguments& arguments) {
  const Model model = load_model(arguments.model);
  const auto progress = make_progress();
  const Stopwatch watch;
  const std::size_t count = encode_file(model, arguments.data, arguments.out, arguments.options, *progress);
  const double seconds = watch.seconds();
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
  const auto arguments = std::make_shared<Arguments>();
  Verb verb = add_verb(program, "encode", "Turn vectors into codes, in memory that does not grow with the file",
                       "  bdnn encode --model m.bdnn --data x.npy --out x.codes\n"
                       "  bdnn encode --model m.bdnn --data base.fvecs --out base.npy      (for NumPy)\n"
                       "  bdnn encode --model m.bdnn --data base.fvecs --out base.codes --codes refined\n\n"
                       "Refined codes are those that the decoder rebuilds the vectors from best, for\n"
                       "'search --rank reconstruction'; by Hamming distance the hash function's own find more.");
  verb.text("--model", arguments->model, "A model that 'bdnn train' wrote").required();
  verb.text("--data", arguments->data, "Vectors: a file of any known format").required();
  verb.text("--out", arguments->out, "Codes: a name that ends in .codes, .npy or .bvecs").required();
  const CodesOptions codes = add_codes_options(verb, arguments->options);
  add_threads_option(verb, arguments->options.threads);
  add_json_option(verb, arguments->json);
  verb.runs([arguments, codes] {
    codes.check(arguments->options);
    encode_verb(*arguments);
  });
}

}  // namespace bdnn::cli
