#include "experiment/reproduction.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/machine.h"
#include "base/threads.h"
#include "bdnn/diagnostics.h"
#include "bdnn/version.h"
#include "experiment/cell_status.h"
#include "experiment/experiment_data.h"
#include "experiment/image_rows.h"
#include "experiment/testbed.h"

namespace bdnn {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::map<std::string, std::string> environment() {
  const Backend kernels = backend();
  return {{"program", std::string("bdnn ") + version()},
          {"commit", commit()},
          {"machine", machine_name()},
          {"SIMD target", kernels.simd},
          {"LAPACK", kernels.lapack}};
}

NamedValues statistics_of(const CodesDiagnostics& codes) {
  return {{"distinct", static_cast<double>(codes.distinct)},
          {"count", static_cast<double>(codes.count)},
          {"entropy", codes.entropy},
          {"bit_entropy", codes.bit_entropy},
          {"largest_imbalance", codes.largest_imbalance},
          {"mean_correlation", codes.mean_correlation},
          {"largest_correlation", codes.largest_correlation},
          {"mean_distance", codes.mean_distance},
          {"distance_deviation", codes.distance_deviation}};
}

std::string commit_of(const Cell& cell) {
  const auto found = cell.environment.find("commit");
  return found == cell.environment.end() ? "unknown" : found->second;
}

// A warning about finished cells of other commits than this program's, counted by commit; "" if there are none.
std::string note_on_commits(const std::map<std::string, std::size_t>& finished) {
  std::string others;
  for (const auto& [name, cells] : finished) {
    if (name != commit()) others += fmt::format("{}{} of {}", others.empty() ? "" : ", ", cells, name);
  }
  if (others.empty()) return "";
  return fmt::format(
      "finished cells are from other commits than this program's, {}: {}; if methods have changed since, use "
      "another folder",
      commit(), others);
}

// One experiment, loaded and ready to run cells.
class Run {
 public:
  Run(const ExperimentPlan& plan, const ExperimentData& data, const ReproductionOptions& options, int threads)
      : plan_(plan),
        data_(data),
        environment_(environment()),
        testbed_(data.protocol, data.dataset,
                 {.metrics = data.protocol.metrics, .cache = options.cache, .threads = threads}, silent_) {}

  Cell run(const CellKey& key, int threads, int at_once) {
    TrainOptions training{.method = key.method,
                          .bits = key.bits,
                          .seed = key.seed,
                          .threads = threads,
                          .profile = key.profile,
                          .set = key.set};
    training.decoder = false;  // nothing here decodes
    Cell cell;
    cell.key = key;
    cell.threads = threads;
    cell.cells_at_once = at_once;
    cell.environment = environment_;
    Progress silent;
    const auto [model, seconds] = testbed_.train(training, silent);
    cell.train_seconds = seconds;
    cell.outcome = model.record.outcome;
    const auto measuring = std::chrono::steady_clock::now();
    const auto measured = testbed_.measure(model, threads, silent);
    cell.values = values_of(measured.result);
    cell.curve = measured.result.curve;
    cell.codes = statistics_of(diagnose_codes(measured.database, threads));
    const bool longest = key.bits == *std::max_element(plan_.bits.begin(), plan_.bits.end());
    if (plan_.images && longest && key.seed == plan_.seeds.front()) {
      cell.images = image_rows(plan_, data_.dataset, testbed_, measured);
    }
    cell.measure_seconds = seconds_since(measuring);
    cell.finished = time_stamp();
    return cell;
  }

 private:
  const ExperimentPlan& plan_;
  const ExperimentData& data_;
  std::map<std::string, std::string> environment_;
  Progress silent_;
  Testbed testbed_;
};

// Checks everything that can be checked before hours of work.
std::vector<Protocol> check(const std::vector<ExperimentPlan>& plans, const ReproductionOptions& options) {
  std::vector<Protocol> protocols;
  for (const auto& plan : plans) {
    protocols.push_back(load_protocol(plan.protocol));
    check_metrics(plan, protocols.back());
    for (const auto& method : plan.methods) {
      const MethodInfo info = method_info(method.method);
      const auto named = [&](const ProfileInfo& profile) { return profile.name == method.profile; };
      if (method.profile != "default" && std::none_of(info.profiles.begin(), info.profiles.end(), named)) {
        misuse("{}: {} has no profile '{}'", plan.name, method.method, method.profile);
      }
    }
    const std::string folder = options.data + "/" + plan.dataset;
    const std::string missing = missing_file(protocols.back(), folder);
    if (!missing.empty()) failure("{}/{}: no such file; {} needs it", folder, missing, protocols.back().name);
  }
  return protocols;
}

}  // namespace

int cells_at_once(std::size_t cells, int threads, std::size_t samples, std::size_t dimension, std::uint64_t memory) {
  constexpr std::uint64_t kKernelFeatures = 1000;
  const std::uint64_t of_a_cell = sizeof(float) * samples * (2 * dimension + kKernelFeatures);
  std::uint64_t most = std::min<std::uint64_t>(cells, static_cast<std::uint64_t>(threads));
  if (memory > 0 && of_a_cell > 0) most = std::min(most, memory / of_a_cell);
  return static_cast<int>(std::max<std::uint64_t>(1, most));
}

std::size_t reproduce(const std::vector<ExperimentPlan>& plans, ResultsFile& results,
                      const ReproductionOptions& options, ReproductionView& view) {
  const std::vector<Protocol> protocols = check(plans, options);
  const int threads =
      options.threads > 0 ? options.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  CellStatus status(plans);
  std::size_t failures = 0;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    const ExperimentPlan& plan = plans[p];
    const ExperimentData data = load_experiment_data(plan, protocols[p], options.data + "/" + plan.dataset, threads);
    results.put({plan, data.setting, data.facts, options.data});
    std::vector<PlannedCell> missing;
    std::map<std::string, std::size_t> commits;  // of finished cells
    status.begin(plan);
    for (const PlannedCell& cell : planned_cells(plan, data.setting)) {
      const Cell* known = results.find(cell.key);
      if (known != nullptr) {
        status.known(cell, *known);
        ++commits[commit_of(*known)];
      } else {
        missing.push_back(cell);
      }
    }
    view.note(fmt::format("{}: {} of {} cells are finished, {} to run", plan.title, plan.cells() - missing.size(),
                          plan.cells(), missing.size()));
    if (const std::string note = note_on_commits(commits); !note.empty()) view.note(note);
    if (missing.empty()) continue;
    if (!data.protocol.labels_are_relevant) view.note("finding the true neighbours of the queries");
    Run run(plan, data, options, threads);
    const Vectors& train = data.dataset.train;
    const int at_once = options.cells_at_once > 0 ? options.cells_at_once
                                                  : cells_at_once(missing.size(), threads, train.size(),
                                                                  train.dimension(), available_memory());
    status.will_run(missing, at_once);
    std::mutex mutex;  // of status, view and failures
    Threads(at_once).for_each(missing.size(), [&](std::size_t i, int /*worker*/) {
      const PlannedCell& cell = missing[i];
      {
        const std::lock_guard lock(mutex);
        view.started(status.start(cell));
      }
      std::optional<Cell> result;
      std::string why;
      try {
        result = run.run(cell.key, std::max(1, threads / at_once), at_once);
      } catch (const std::bad_alloc&) {
        why = "out of memory";
      } catch (const Error& error) {
        why = error.what();
      }
      const std::lock_guard lock(mutex);
      if (result) {
        results.add(*result);
        view.finished(cell.in_words, *result, status.finish(cell, &*result));
      } else {
        ++failures;
        status.finish(cell, nullptr);
        view.failed(cell.in_words, why);
      }
    });
  }
  return failures;
}

}  // namespace bdnn
