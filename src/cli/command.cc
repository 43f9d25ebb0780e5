#include "cli/command.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>

namespace bdnn::cli {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class TerminalProgress final : public Progress {
 public:
  ~TerminalProgress() override { clear(); }

  void update(std::string_view stage, std::size_t done, std::size_t total) override {
    const double time = now();
    if (stage != stage_) {
      stage_ = stage;
      stage_start_ = time;
    } else if (time - last_ < 0.1 && done < total) {
      return;
    }
    last_ = time;
    constexpr std::size_t kWidth = 30;
    const double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
    const auto filled = static_cast<std::size_t>(share * kWidth);
    const double elapsed = time - stage_start_;
    const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0;
    const double left = rate > 0 ? static_cast<double>(total - done) / rate : 0;
    fmt::print(stderr, "\r\033[K{} [{:#<{}}{:.<{}}] {:3.0f}%  {:.3g}/s  {:.0f} s left", stage, "", filled, "",
               kWidth - filled, 100 * share, rate, left);
    std::fflush(stderr);
    shown_ = true;
    if (done == total) clear();
  }

 private:
  void clear() {
    if (shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }

  std::string stage_;
  double stage_start_ = 0;
  double last_ = 0;
  bool shown_ = false;
};

}  // namespace

CLI::App* add_verb(CLI::App& app, const std::string& name, const std::string& summary, const std::string& examples) {
  CLI::App* verb = app.add_subcommand(name, summary);
  verb->footer("\nExamples:\n" + examples);
  return verb;
}

void add_threads_option(CLI::App* verb, int& threads) {
  verb->add_option("--threads", threads, "Number of threads; results do not depend on it (default: one per core)")
      ->check(CLI::Range(1, 4096));
}

void add_json_option(CLI::App* verb, bool& json) { verb->add_flag("--json", json, "Print one JSON object instead"); }

std::unique_ptr<Progress> make_progress() {
  if (::isatty(STDERR_FILENO) != 0) return std::make_unique<TerminalProgress>();
  return std::make_unique<Progress>();
}

Stopwatch::Stopwatch() : start_(now()) {}
double Stopwatch::seconds() const { return now() - start_; }

std::size_t peak_memory() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

std::string with_commas(std::uint64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace bdnn::cli
