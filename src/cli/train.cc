#include <fmt/format.h>

#include "base/files.h"
#include "bdnn/bdnn.h"
#include "cli/command.h"

namespace bdnn::cli {
namespace {

struct Arguments {
  TrainOptions options;
  std::vector<std::string> set;
  std::string data;
  std::string model;
  bool json = false;
};

void train_verb(Arguments& arguments) {
  arguments.options.set = parse_assignments(arguments.set);
  { const OutputFile probe(arguments.model); }  // better to fail before the training than after it
  const auto progress = make_progress();
  const Stopwatch loading;
  const Vectors vectors = load_vectors(arguments.data);
  const double load_seconds = loading.seconds();
  arguments.options.data_name = file_name(arguments.data);
  const Stopwatch training;
  const Model model = train(vectors, arguments.options, *progress);
  const double seconds = training.seconds();
  save_model(model, arguments.model);

  if (arguments.json) {
    const nlohmann::ordered_json result = {{"model", arguments.model},        {"fingerprint", fingerprint(model)},
                                           {"method", model.record.method},   {"bits", model.bits()},
                                           {"dimension", model.dimension()},  {"samples", model.record.samples},
                                           {"options", model.record.options}, {"load_seconds", load_seconds},
                                           {"train_seconds", seconds},        {"peak_memory_bytes", peak_memory()}};
    print_json(result);
    return;
  }
  fmt::print(
      "{}: {}, {} bits, from {} vectors of dimension {}; {:.2f} s to load, {:.2f} s to train, {:.0f} MB at most\n",
      printable(arguments.model), model.record.method, model.bits(), with_commas(model.record.samples),
      model.dimension(), load_seconds, seconds, static_cast<double>(peak_memory()) / 1e6);
}

}  // namespace

void add_train(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb =
      add_verb(app, "train", "Learn a hash function from vectors",
               "  bdnn train --method itq --bits 32 --data base.fvecs --model m.bdnn\n"
               "  bdnn train --method itq --bits 64 --data x.npy --model m.bdnn --set rotations=100 --seed 7");
  verb->add_option("--method", arguments->options.method, "How to learn; 'bdnn methods' lists them")
      ->capture_default_str();
  verb->add_option("--bits", arguments->options.bits, "The length of the codes, 1 to 4096")
      ->check(whole_number())
      ->capture_default_str();
  verb->add_option("--data", arguments->data, "Vectors to learn from: a file of any known format")->required();
  verb->add_option("--model", arguments->model, "Where to write the model")->required();
  verb->add_option("--set", arguments->set, "An option of the method, as name=value; may be repeated")
      ->allow_extra_args(false);
  verb->add_option("--seed", arguments->options.seed, "The same seed gives the same model, bit for bit")
      ->check(whole_number())
      ->capture_default_str();
  add_threads_option(verb, arguments->options.threads);
  add_json_option(verb, arguments->json);
  verb->callback([arguments] { train_verb(*arguments); });
}

}  // namespace bdnn::cli
