#pragma once

#include <malloc.h>

#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>

namespace bdnn::testing {

// Bytes that the process has, or had at most, in memory: "VmRSS:" or "VmHWM:".
inline std::size_t resident_memory(const std::string& which) {
  std::ifstream status("/proc/self/status");
  std::size_t kilobytes = 0;
  for (std::string word; status >> word;) {
    if (word == which && status >> kilobytes) return kilobytes * 1024;
  }
  throw std::runtime_error("/proc/self/status has no " + which);
}

// By how many bytes `work` raises the memory of this process at most. What larger tests before it have left is cleared
// away: the mark of the most memory is set back, and memory that was freed but kept for later goes back to the system.
template <class Work>
std::size_t peak_growth(const Work& work) {
  ::malloc_trim(0);
  std::ofstream reset("/proc/self/clear_refs");
  if (!(reset << 5 << std::flush)) throw std::runtime_error("cannot set back the mark of the most memory");
  const std::size_t before = resident_memory("VmRSS:");
  work();
  const std::size_t most = resident_memory("VmHWM:");
  return most > before ? most - before : 0;
}

}  // namespace bdnn::testing
