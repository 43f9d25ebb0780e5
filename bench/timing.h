// Rivals timed in turns, so that what else the machine does hits all alike; the best time of each counts.
//
// Not Google Benchmark, which times one function after the other: on a shared machine the ratio of two such times says
// more about the neighbours than about the functions.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <vector>

namespace bdnn::bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The shortest of `rounds` times of each rival, in seconds.
inline std::vector<double> best_times(int rounds, const std::vector<std::function<void()>>& rivals) {
  std::vector<double> best(rivals.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      const double start = now();
      rivals[i]();
      best[i] = std::min(best[i], now() - start);
    }
  }
  return best;
}

}  // namespace bdnn::bench
