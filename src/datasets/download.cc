#include "datasets/download.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/with_commas.h"
#include "datasets/content.h"

namespace bdnn {
namespace {

constexpr int kFruitlessTries = 3;  // in a row, without a byte
constexpr int kMostTries = 1000;    // with a server that keeps breaking off
constexpr int kMostRestarts = 2;    // from the first byte

// Exit statuses of curl.
constexpr int kHttpError = 22;
constexpr int kWriteError = 23;
constexpr int kRangeError = 33;
constexpr int kBadResume = 36;

std::uint64_t size_of(const std::string& path) {
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(path, missing);
  return missing ? 0 : bytes;
}

void remove(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

std::vector<std::string> curl_command(const std::string& url, const std::string& part, std::uint64_t offset) {
  // Does not wait forever for an answer or the next byte; buffered bytes would be lost with the process.
  std::vector<std::string> command = {"curl",      "--fail",        "--silent",   "--show-error",
                                      "--globoff", "--no-buffer",   "--location", "--connect-timeout",
                                      "30",        "--speed-limit", "1",          "--speed-time",
                                      "60",        "--max-redirs",  "10"};
  const std::string protocols = "=http,https,ftp";
  const std::string from = std::to_string(offset);
  for (const auto& [option, value] : {std::pair<const char*, std::string>{"--proto", protocols},
                                      {"--proto-redir", protocols},
                                      {"--write-out", "%{http_code}"},
                                      {"--continue-at", from},
                                      {"--output", part},
                                      {"--url", url}}) {
    command.insert(command.end(), {option, value});
  }
  return command;
}

// Whether the same request may succeed in a moment: the connection broke, or the server is busy.
bool may_pass(int status, const std::string& http_code) {
  if (status == kHttpError) return http_code.starts_with('5') || http_code == "429" || http_code == "408";
  constexpr int kPassing[] = {16, 18, 28, 35, 52, 55, 56, 92, 95};
  return std::find(std::begin(kPassing), std::end(kPassing), status) != std::end(kPassing);
}

// The last line, without "curl: (6) " before it.
std::string what_curl_said(const ProcessResult& result) {
  std::string text = result.errors;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  text = text.substr(text.rfind('\n') + 1);
  if (text.starts_with("curl: (") && text.find(") ") != std::string::npos) text = text.substr(text.find(") ") + 2);
  return text.empty() ? fmt::format("curl ends with status {}", result.status) : text;
}

}  // namespace

bool download(const std::string& url, const std::string& part, std::uint64_t bytes, Progress& progress,
              const Note& note) {
  const std::string name = "downloading " + file_name(url);
  bool earlier = size_of(part) > 0;
  int fruitless = 0;
  int restarts = 0;
  for (int tries = 1;; ++tries) {
    std::uint64_t before = size_of(part);
    if (before == bytes) return earlier;
    if (before > bytes) {
      remove(part);
      before = 0;
      earlier = false;
    }
    const ProcessResult curl = run_process(curl_command(url, part, before), [&] {
      const std::uint64_t now = size_of(part);
      progress.update(name, std::min(now, bytes), bytes);
      return now <= bytes;
    });
    if (!curl.found) failure("the program curl, which is needed for downloads, is not installed");
    const std::uint64_t after = size_of(part);
    if (after > bytes || (curl.status == 0 && after < bytes)) {
      remove(part);
      failure("{} has {} bytes there, {} are expected", file_name(url),
              after > bytes ? "more than " + with_commas(bytes) : with_commas(after), with_commas(bytes));
    }
    if (curl.status == 0 || after == bytes) return earlier;
    const std::string why = what_curl_said(curl);
    if (curl.status == kWriteError) {
      throw CannotWrite(Error::Kind::failure, fmt::format("{}: cannot write: {}", part, why));
    }
    const bool cannot_resume = before > 0 && after <= before && !may_pass(curl.status, curl.output) &&
                               (curl.status == kHttpError || curl.status == kRangeError || curl.status == kBadResume);
    if (cannot_resume && restarts < kMostRestarts) {
      ++restarts;
      earlier = false;
      remove(part);
      note(fmt::format("{}: the server does not resume transfers; starting again", url));
      continue;
    }
    fruitless = after > before ? 0 : fruitless + 1;
    if (!may_pass(curl.status, curl.output) || fruitless == kFruitlessTries || tries == kMostTries) {
      if (after > 0) {
        failure("{}; {} of {} bytes are kept in {}, to resume from", why, with_commas(after), with_commas(bytes), part);
      }
      failure("{}", why);
    }
    note(fmt::format("{}: {}; resuming at byte {}", url, why, with_commas(after)));
    std::this_thread::sleep_for(std::chrono::milliseconds(100 << (2 * fruitless)));
  }
}

}  // namespace bdnn
