// How the benchmarks measure: rivals in turns, each as often as the others, on the same batch; the best time of each
// counts. What else the machine does then hits all of them alike.
//
// Not Google Benchmark, which times one function after the other: on a shared machine the ratio of two such times says
// more about the neighbours than about the functions.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "bdnn/version.h"

namespace bdnn::bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// CPU time of all threads of this process. For work of one thread that takes too long to be repeated often: other
// programs lengthen it little.
inline double cpu_now() {
  std::timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

using Rivals = std::vector<std::function<void()>>;

// The shortest of `rounds` times of each rival, in seconds of `clock`.
inline std::vector<double> best_times(int rounds, const Rivals& rivals, double (*clock)() = now) {
  std::vector<double> best(rivals.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      const double start = clock();
      rivals[i]();
      best[i] = std::min(best[i], clock() - start);
    }
  }
  return best;
}

// The same for work that is shorter than what the caches remember: a turn is an untimed run, which finds the caches as
// another rival left them, and `runs` timed ones.
inline std::vector<double> best_warm_times(int rounds, int runs, const Rivals& rivals, double (*clock)() = now) {
  std::vector<double> best(rivals.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      rivals[i]();
      best[i] = std::min(best[i], best_times(runs, {rivals[i]}, clock).front());
    }
  }
  return best;
}

// "AMD EPYC, 2 cores; ours: AVX2": the first line of every benchmark's output.
inline std::string machine() {
  std::string model = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name") || line.find(": ") == std::string::npos) continue;
    model = line.substr(line.find(": ") + 2);
    break;
  }
  return model + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores; ours: " + backend().simd;
}

}  // namespace bdnn::bench
