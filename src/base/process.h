// Other programs, run without a shell.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bdnn {

struct ProcessResult {
  bool found = true;   // false: no such program
  int status = 0;      // exit status; 128 plus the number of the signal that ended it
  std::string output;  // of standard output, the first few kilobytes
  std::string errors;  // of standard error, the last few kilobytes
};

// Runs a program of PATH and waits for its end. Calls watch(), if given, several times a second; if it returns
// false or raises, the program is killed. It is also killed when this process ends.
ProcessResult run_process(const std::vector<std::string>& arguments, const std::function<bool()>& watch = {});

}  // namespace bdnn
