#include "base/machine.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <optional>
#include <thread>

#include "base/error.h"

namespace bdnn {
namespace {

// The text after `key` and a separator in the first such line: "model name\t: AMD EPYC" or "NAME=Debian".
std::string value_in(const char* file, const std::string& key, char separator) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const auto at = line.find(separator);
    if (at == std::string::npos) continue;
    const auto first = line.find_first_not_of(" \t\"", at + 1);
    const auto last = line.find_last_not_of(" \t\"");
    if (first != std::string::npos) return line.substr(first, last - first + 1);
  }
  return "";
}

std::optional<std::uint64_t> number_in(const char* file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  return in >> value ? std::optional(value) : std::nullopt;  // "max" is no limit
}

}  // namespace

std::string machine_name() {
  std::string name = value_in("/proc/cpuinfo", "model name", ':');
  if (name.empty()) name = "unknown processor";
  const unsigned cores = std::thread::hardware_concurrency();
  name += fmt::format(", {} core{}", cores, cores == 1 ? "" : "s");
  const std::string system = value_in("/etc/os-release", "PRETTY_NAME", '=');
  return system.empty() ? name : name + ", " + system;
}

std::uint64_t available_memory() {
  std::ifstream meminfo("/proc/meminfo");
  std::uint64_t available = std::numeric_limits<std::uint64_t>::max();
  for (std::string word; meminfo >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "MemAvailable:" && meminfo >> kilobytes) available = kilobytes * 1024;
  }
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (limit && used) available = std::min(available, *limit - std::min(*limit, *used));
  return available == std::numeric_limits<std::uint64_t>::max() ? 0 : available;
}

std::string time_stamp() {
  const auto now = std::chrono::system_clock::now();
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(now - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count());
}

}  // namespace bdnn
