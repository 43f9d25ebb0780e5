#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "base/error.h"
#include "base/threads.h"

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
    say(fmt::format("\r\033[K{} [{:#<{}}{:.<{}}] {:3.0f}%  {:.3g}/s  {:.0f} s left", stage, "", filled, "",
                    kWidth - filled, 100 * share, rate, left));
    shown_ = true;
    if (done == total) clear();
  }

 private:
  void clear() {
    if (shown_) say("\r\033[K");
    shown_ = false;
  }

  std::string stage_;
  double stage_start_ = 0;
  double last_ = 0;
  bool shown_ = false;
};

}  // namespace

Verb add_verb(Verb program, const std::string& name, const std::string& summary, const std::string& examples) {
  Verb verb = program.add_verb(name, summary);
  verb.examples(examples);
  return verb;
}

void add_threads_option(Verb verb, int& threads) {
  verb.integer("--threads", threads, "Number of threads; results do not depend on it (default: one per core)")
      .range(1, kMostThreads);
}

void add_json_option(Verb verb, bool& json) { verb.flag("--json", json, "Print one JSON object instead of text"); }

void refuse(const std::vector<Option>& options, const std::string& why) {
  for (const Option& option : options) {
    if (option.given()) misuse("{} does not apply {}", option.name(), why);
  }
}

std::map<std::string, std::string> parse_assignments(const std::vector<std::string>& assignments, std::size_t pca) {
  std::map<std::string, std::string> values;
  for (const auto& assignment : assignments) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      misuse("--set {} is not an assignment; write --set name=value ('bdnn methods NAME' lists the names)", assignment);
    }
    values[assignment.substr(0, equals)] = assignment.substr(equals + 1);
  }
  if (pca > 0 && !values.emplace("pca", std::to_string(pca)).second) {
    misuse("give --pca or --set pca=..., not both");
  }
  return values;
}

Option add_pca_option(Verb verb, std::size_t& pca, const std::string& condition) {
  return verb
      .number("--pca", pca,
              condition +
                  "Reduce vectors to this many principal components first; the reduction becomes part of the model,\n"
                  "which takes the original vectors")
      .at_least_1();
}

void print_json(const Json& json) { fmt::print("{}\n", json.text()); }

void say(const std::string& text) {
  std::fflush(stdout);  // so that a terminal or a log shows both in order
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

std::unique_ptr<Progress> make_progress() {
  if (::isatty(STDERR_FILENO) != 0) return std::make_unique<TerminalProgress>();
  return std::make_unique<Progress>();
}

Stopwatch::Stopwatch() : start_(now()) {}
double Stopwatch::seconds() const { return now() - start_; }

std::size_t peak_memory() {
  // Not getrusage(): its maximum includes the process before exec() made it this program.
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::size_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const std::size_t length = byte(i) < 0x80       ? 1
                               : byte(i) >> 5 == 6  ? 2
                               : byte(i) >> 4 == 14 ? 3
                               : byte(i) >> 3 == 30 ? 4
                                                    : 0;
    bool valid = length > 0 && i + length <= text.size() && (length > 1 || (byte(i) >= 0x20 && byte(i) != 0x7f));
    for (std::size_t k = 1; valid && k < length; ++k) valid = byte(i + k) >> 6 == 2;
    if (valid && byte(i) == 0xc2 && byte(i + 1) < 0xa0) valid = false;  // 8-bit control characters
    if (valid) {
      out.append(text.substr(i, length));
      i += length;
    } else {
      out += fmt::format("\\x{:02x}", byte(i++));
    }
  }
  return out;
}

}  // namespace bdnn::cli
