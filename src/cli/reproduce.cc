#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/folder_lock.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "datasets/get.h"
#include "experiment/experiment_data.h"
#include "experiment/reproduction.h"
#include "report/write_report.h"

namespace bdnn::cli {
namespace {

struct ReproduceArguments {
  std::vector<std::string> experiments;
  std::string data = "data";
  std::string out = "results";
  std::vector<std::string> methods;
  std::vector<std::size_t> bits;
  std::vector<std::uint64_t> seeds;
  bool quick = false;
  bool report = false;
  int cells_at_once = 0;
  int threads = 0;
  bool json = false;
};

std::string time_left(double seconds) {
  if (seconds < 0) return "";
  if (seconds < 90) return fmt::format(", {:.0f} s left", seconds);
  if (seconds < 5400) return fmt::format(", {:.0f} min left", seconds / 60);
  return fmt::format(", {:.1f} h left", seconds / 3600);
}

// Prints a line per finished cell and, on a terminal, a status line with what is running.
class TerminalView final : public ReproductionView {
 public:
  ~TerminalView() override { clear(); }

  void note(const std::string& text) override {
    clear();
    say(printable(text) + "\n");
  }

  void started(const ReproductionStatus& status) override { show(status); }

  void finished(const std::string& cell, const Cell& result, const ReproductionStatus& status) override {
    clear();
    std::string values;
    for (const auto& [name, value] : result.values) {
      if (name == "mAP" || name.starts_with("precision@")) values += fmt::format(", {} {:.2f} %", name, 100 * value);
    }
    say(fmt::format("[{}/{}] {}{}, {:.1f} s{}\n", status.done, status.total, printable(cell), values,
                    result.train_seconds + result.measure_seconds, terminal_ ? "" : time_left(status.seconds_left)));
    show(status);
  }

  void failed(const std::string& cell, const std::string& why) override {
    clear();
    say(fmt::format("{} failed: {}\n", printable(cell), printable(why)));
  }

 private:
  void show(const ReproductionStatus& status) {
    if (!terminal_) return;
    std::string line = fmt::format("{} of {} cells{}", status.done, status.total, time_left(status.seconds_left));
    if (!status.best.empty()) line += "; best so far: " + status.best;
    for (const auto& cell : status.running) line += (cell == status.running.front() ? "; running: " : " | ") + cell;
    line = printable(line);
    winsize size{};
    const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    if (known) line.resize(std::min<std::size_t>(line.size(), size.ws_col - 1U));
    say("\r\033[K" + line);
    shown_ = true;
  }

  void clear() {
    if (shown_) say("\r\033[K");
    shown_ = false;
  }

  bool terminal_ = ::isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
};

// Keeps the methods with these labels or names; adds those that the experiment lacks.
void choose_methods(ExperimentPlan& plan, const std::vector<std::string>& names) {
  std::vector<PlannedMethod> chosen;
  for (const auto& name : names) {
    bool found = false;
    for (const auto& method : plan.methods) {
      if (method.label != name && method.method != name) continue;
      found = true;
      if (std::find(chosen.begin(), chosen.end(), method) == chosen.end()) chosen.push_back(method);
    }
    if (found) continue;
    const std::size_t colon = name.find(':');
    chosen.push_back(
        {name, name.substr(0, colon), colon == std::string::npos ? "default" : name.substr(colon + 1), {}});
  }
  for (auto& method : chosen) method.quick = true;  // a method named on the command line always runs
  plan.methods = std::move(chosen);
}

// Each value once, in order of first appearance.
template <class Value>
std::vector<Value> without_repeats(const std::vector<Value>& values) {
  std::vector<Value> once;
  for (const Value& value : values) {
    if (std::find(once.begin(), once.end(), value) == once.end()) once.push_back(value);
  }
  return once;
}

std::vector<ExperimentPlan> load_plans(const ReproduceArguments& arguments) {
  std::vector<ExperimentPlan> plans;
  for (const auto& path : arguments.experiments) {
    ExperimentPlan plan = load_experiment(path);
    if (!arguments.methods.empty()) choose_methods(plan, arguments.methods);
    if (arguments.quick) plan = quick_version(plan);
    if (!arguments.bits.empty()) plan.bits = without_repeats(arguments.bits);
    if (!arguments.seeds.empty()) plan.seeds = without_repeats(arguments.seeds);
    plans.push_back(std::move(plan));
  }
  return plans;
}

// If data is missing that the program can get, raises Error with the command that gets it.
void check_data(const std::vector<ExperimentPlan>& plans, const std::string& data) {
  const DatasetCatalog catalog = builtin_datasets();
  for (const auto& plan : plans) {
    const DatasetEntry* entry = find_entry(catalog, plan.dataset);
    if (entry == nullptr) continue;
    const std::string folder = folder_of(*entry, data);
    const std::string missing = missing_file(load_protocol(plan.protocol), folder);
    if (missing.empty()) continue;
    const bool has_it = std::any_of(entry->files.begin(), entry->files.end(),
                                    [&](const DatasetFile& file) { return file.name == missing; });
    failure("{}/{}: no such file; {} 'bdnn dataset get {} --data {}'{}", folder, missing,
            has_it ? "get it with" : "it holds features of images; get the images with", entry->name, data,
            has_it ? "" : ", then compute their features with 'bdnn features' (docs/features.md)");
  }
}

void check_report_outputs(const ReproduceArguments& arguments, const std::vector<ExperimentPlan>& plans) {
  std::vector<NamedFile> inputs;
  for (const auto& path : arguments.experiments) inputs.push_back({"the experiment", path});
  for (const auto& plan : plans) {
    inputs.push_back({"the protocol", plan.protocol});
    for (auto& file : files_of(load_protocol(plan.protocol), arguments.data + "/" + plan.dataset))
      inputs.push_back(file);
  }
  for (const char* name : {"results.json", "report.md", "report.csv", "report.json", "report.html"}) {
    check_outputs({{"--out", arguments.out + "/" + name}}, inputs);
  }
}

void reproduce_verb(const ReproduceArguments& arguments) {
  const std::vector<ExperimentPlan> plans = load_plans(arguments);
  if (!arguments.report) check_data(plans, arguments.data);
  const std::string path = arguments.out + "/results.json";
  if (arguments.report && !std::filesystem::exists(path)) failure("{}: no such file; run an experiment first", path);
  check_report_outputs(arguments, plans);
  const FolderLock lock(arguments.out);
  ResultsFile results(path);
  std::size_t failures = 0;
  if (!arguments.report) {
    TerminalView view;
    failures = reproduce(plans, results,
                         {.data = arguments.data,
                          .cache = arguments.out + "/cache",
                          .threads = arguments.threads,
                          .cells_at_once = arguments.cells_at_once},
                         view);
  }
  const std::string page = write_report(results, arguments.out);
  if (arguments.json) {
    print_json({{"report", page}, {"results", path}, {"cells", results.cells().size()}, {"failed", failures}});
  } else {
    fmt::print("{}\n", page);
  }
  if (failures > 0) failure("{} cell{} failed; the report shows the others", failures, failures == 1 ? "" : "s");
}

}  // namespace

void add_reproduce(Verb program) {
  const auto arguments = std::make_shared<ReproduceArguments>();
  Verb verb = add_verb(
      program, "reproduce", "Run the paper's experiments and write a report: tables, plots, images",
      "  bdnn reproduce experiments/mnist-unsupervised.toml --data data --out results/mnist\n"
      "  bdnn reproduce experiments/mnist-*.toml --quick\n"
      "  bdnn reproduce experiments/mnist-unsupervised.toml --method UH-BDNN,itq,uh-bdnn:paper --bits 16,64 --seeds 1\n"
      "  bdnn reproduce --report --out results/mnist\n\n"
      "Finished cells (one per method, length and seed) are kept in OUT/results.json and not run again: to resume an\n"
      "interrupted run, repeat the command. Writes OUT/report.html, .md, .csv, .json and OUT/plots/*.svg.\n"
      "docs/reproduction.md describes experiment files.");
  const Option experiments = verb.texts("experiments", arguments->experiments, "Experiment files");
  const Option data = verb.text("--data", arguments->data, "Folder with a subfolder for each dataset").shows_default();
  verb.text("--out", arguments->out, "Folder for results and report").shows_default();
  const Option quick =
      verb.flag("--quick", arguments->quick, "Run a small version: 5,000 vectors, one seed, 16 and 32 bits");
  const Option methods = verb.texts("--method", arguments->methods,
                                    "Only these methods, by label or name, separated by commas; NAME:PROFILE adds one")
                             .separated_by(',');
  const Option bits =
      verb.numbers("--bits", arguments->bits, "Code lengths in place of the experiment's").separated_by(',');
  const Option seeds =
      verb.numbers("--seeds", arguments->seeds, "Training seeds in place of the experiment's").separated_by(',');
  verb.flag("--report", arguments->report, "Only write the report again, from OUT/results.json");
  const Option at_once = verb.integer("--cells-at-once", arguments->cells_at_once,
                                      "Number of cells to run in parallel; results do not depend on it (default: one "
                                      "per thread, if memory allows)")
                             .range(1, 4096);
  add_threads_option(verb, arguments->threads);
  add_json_option(verb, arguments->json);
  verb.runs([=] {
    if (arguments->report) {
      refuse({experiments, data, quick, methods, bits, seeds, at_once}, "with --report, which runs nothing");
    } else if (arguments->experiments.empty()) {
      misuse("name one or more experiment files, or give --report");
    }
    reproduce_verb(*arguments);
  });
}

}  // namespace bdnn::cli
