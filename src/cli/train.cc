#include <fmt/format.h>

#include <climits>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "bdnn/bdnn.h"
#include "cli/codes_input.h"
#include "cli/command.h"
#include "cli/csv_input.h"
#include "cli/outputs.h"
#include "data/format.h"
#include "model/model_file.h"

namespace bdnn::cli {
namespace {

struct TrainArguments {
  TrainOptions options;
  std::vector<std::string> set;
  std::size_t pca = 0;
  std::string data;
  std::string labels;
  std::string model;
  std::string log;
  CsvInput csv;
  bool no_checkpoint = false;
  bool json = false;
};

// Shows the progress bar, prints training rounds as a table and logs them to a file as lines of JSON.
class RoundTable final : public Progress {
 public:
  RoundTable(bool table, const std::string& log) : bar_(make_progress()), table_(table), log_path_(log) {
    if (log.empty()) return;
    log_.open(log, std::ios::trunc);
    if (!log_) failure("{}: cannot be written", log);
  }

  void update(std::string_view stage, std::size_t done, std::size_t total) override {
    bar_->update(stage, done, total);
  }

  void round(const Round& values) override {
    if (log_.is_open()) {
      Json line = Json::object();
      for (const auto& [name, value] : values) line.add(name, value);
      log_ << line.text() << std::endl;
      if (!log_) failure("{}: cannot be written", log_path_);
    }
    if (!table_) return;
    if (!headed_) {
      for (const auto& [name, value] : values) fmt::print("{:>{}} ", name, width(name));
      fmt::print("\n");
      headed_ = true;
    }
    for (const auto& [name, value] : values) fmt::print("{:>{}} ", cell(name, value), width(name));
    fmt::print("\n");
    std::fflush(stdout);
  }

 private:
  static std::size_t width(const std::string& name) { return std::max<std::size_t>(name.size(), 9); }

  static std::string cell(const std::string& name, double value) {
    if (name == "iteration") return fmt::format("{:.0f}", value);
    if (name == "flipped" || name == "differing" || name.starts_with("held_out"))
      return fmt::format("{:.2f} %", 100 * value);
    if (name == "passes" || name == "seconds") return fmt::format("{:.1f}", value);
    return fmt::format("{:.5g}", value);
  }

  std::unique_ptr<Progress> bar_;
  bool table_;
  bool headed_ = false;
  std::string log_path_;
  std::ofstream log_;
};

// Enough training vectors, from all parts of the data, to judge the codes by.
Vectors some_of(const Vectors& vectors) {
  constexpr std::size_t kEnough = 10000;
  if (vectors.size() <= kEnough) return vectors;
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < kEnough; ++i) {
    rows.push_back(static_cast<std::uint32_t>(vectors.size() * i / kEnough));
  }
  return gather(vectors, rows);
}

// MODEL.checkpoint; a model name near the length limit of file names is shortened.
std::string checkpoint_of(const std::string& model) {
  constexpr std::string_view kEnding = ".checkpoint";
  const std::string name = file_name(model);
  const std::size_t most = NAME_MAX - kEnding.size();
  return model.substr(0, model.size() - (name.size() > most ? name.size() - most : 0)) + std::string(kEnding);
}

void train_verb(TrainArguments& arguments) {
  TrainOptions& options = arguments.options;
  options.set = parse_assignments(arguments.set, arguments.pca);
  const MethodInfo method = method_info(options.method);
  if (!arguments.labels.empty() && !method.supervised) {
    misuse("--labels does not apply to {}, which learns without labels", method.name);
  }
  const VectorsFile labels = arguments.csv.labels(arguments.labels, arguments.data);
  if (method.supervised && labels.path.empty()) {
    misuse("{} learns from labels; give --labels, or --label-column of a CSV file", method.name);
  }
  check_outputs({{"--model", arguments.model}, {"--log", arguments.log}},
                {{"--data", arguments.data}, {"--labels", arguments.labels}});
  // Opened first: better to fail before the training than after it. A pipe stays open, since closing it would end its
  // reader; a file is closed, so that no temporary file lies around during the training.
  std::optional<OutputFile> output(std::in_place, arguments.model);
  if (!output->direct()) output.reset();
  if (!arguments.no_checkpoint && method.resumable && !output) {
    options.checkpoint = checkpoint_of(arguments.model);  // there is no place for it beside a pipe or a device
  }
  check_outputs({{"the checkpoint of --model", options.checkpoint}, {"--log", arguments.log}},
                {{"--data", arguments.data}, {"--labels", arguments.labels}});
  if (options.resume && options.checkpoint.empty()) {
    misuse("there is nothing to resume: {}", arguments.no_checkpoint ? "--no-checkpoint forbids it"
                                             : method.resumable ? "no checkpoint is written beside a pipe or a device"
                                                                : options.method + " writes no checkpoints");
  }
  if (options.resume && !std::filesystem::exists(options.checkpoint)) {
    say(fmt::format("{}: does not exist; training starts from the beginning\n", printable(options.checkpoint)));
  }
  RoundTable progress(!arguments.json, arguments.log);
  const Stopwatch loading;
  const Vectors vectors = load_vectors(arguments.csv.file(arguments.data));
  if (method.supervised) options.labels = labels_from(labels, vectors.size(), arguments.data);
  const double load_seconds = loading.seconds();
  options.data_name = file_name(arguments.data);
  const Stopwatch training;
  const Model model = train(vectors, options, progress);
  const double seconds = training.seconds();
  const CodesDiagnostics diagnostics =
      diagnose_codes(encode(model, some_of(vectors), options.threads), options.threads);
  const auto warnings = warnings_of(diagnostics, method.supervised);
  if (!output) output.emplace(arguments.model);
  save_model(model, *output);
  output_stands_now();
  std::error_code ignored;  // the model is saved; a checkpoint that cannot be removed does no harm
  if (!options.checkpoint.empty()) std::filesystem::remove(options.checkpoint, ignored);

  for (const auto& warning : warnings) say(fmt::format("bdnn train: warning: {}\n", warning));
  if (arguments.json) {
    print_json({{"model", arguments.model},
                {"fingerprint", fingerprint(model)},
                {"method", model.record.method},
                {"bits", model.bits()},
                {"dimension", model.dimension()},
                {"samples", model.record.samples},
                {"options", model.record.options},
                {"outcome", model.record.outcome},
                {"distinct_codes", diagnostics.distinct},
                {"codes_looked_at", diagnostics.count},
                {"warnings", Json::array(warnings)},
                {"load_seconds", load_seconds},
                {"train_seconds", seconds},
                {"peak_memory_bytes", peak_memory()}});
    return;
  }
  if (!model.record.outcome.empty()) fmt::print("{}\n", model.record.outcome);
  fmt::print("{}\n", summary_of(diagnostics));
  fmt::print(
      "{}: {}, {} bits, from {} vectors of dimension {}; {:.2f} s to load, {:.2f} s to train, {:.0f} MB at most\n",
      printable(arguments.model), model.record.method, model.bits(), with_commas(model.record.samples),
      model.dimension(), load_seconds, seconds, static_cast<double>(peak_memory()) / 1e6);
}

}  // namespace

void add_train(Verb program) {
  const auto arguments = std::make_shared<TrainArguments>();
  Verb verb = add_verb(
      program, "train", "Learn a hash function from vectors",
      "  bdnn train --method itq --bits 32 --data base.fvecs --model m.bdnn\n"
      "  bdnn train --method itq --bits 64 --data x.npy --model m.bdnn --set rotations=100 --seed 7\n"
      "  bdnn train --method uh-bdnn --bits 32 --data base.fvecs --model m.bdnn --profile paper --log rounds.jsonl\n"
      "  bdnn train --method uh-bdnn --bits 32 --data base.fvecs --model m.bdnn --resume\n"
      "  bdnn train --method itq --bits 32 --data cnn-features.npy --pca 800 --model m.bdnn\n"
      "  bdnn train --method sh-bdnn --bits 16 --data flowers.csv --label-column species --model m.bdnn");
  verb.text("--method", arguments->options.method, "Method; 'bdnn methods' lists them").shows_default();
  verb.number("--bits", arguments->options.bits, "Code length in bits, 1 to 4096").shows_default();
  verb.text("--data", arguments->data, "Training vectors, in any supported format").required();
  verb.text("--model", arguments->model, "Output file for the model").required();
  verb.text("--labels", arguments->labels,
            "Labels for supervised methods, one integer or name per vector; -1 means unlabelled");
  verb.text("--profile", arguments->options.profile, "Profile of settings; 'bdnn methods NAME' lists them")
      .shows_default();
  verb.texts("--set", arguments->set, "An option of the method, as name=value; may be repeated").one_at_a_time();
  add_pca_option(verb, arguments->pca);
  verb.number("--seed", arguments->options.seed, "Random seed; equal seeds give equal models").shows_default();
  verb.text("--log", arguments->log, "Log each training round to this file as a line of JSON");
  verb.flag("--resume", arguments->options.resume, "Resume from MODEL.checkpoint if it exists");
  verb.flag("--no-checkpoint", arguments->no_checkpoint, "Write no checkpoints");
  verb.flag("!--no-decoder", arguments->options.decoder,
            "Train no decoder ('bdnn decode' and '--rank reconstruction' need one)");
  add_threads_option(verb, arguments->options.threads);
  add_json_option(verb, arguments->json);
  arguments->csv.add_options(verb);
  verb.runs([arguments] {
    arguments->csv.check({arguments->data});
    with_column_hint([&] { train_verb(*arguments); });
  });
}

}  // namespace bdnn::cli
