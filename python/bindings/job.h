// Long work without the GIL that Ctrl-C can end and that reports to Python.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bdnn/progress.h"

namespace bdnn::python {

namespace py = pybind11;

// Runs a job on a thread of its own. The calling thread waits without the GIL, handles Python's signals some twenty
// times a second, and hands on what the job reports: to listener.update(stage, done, total) and listener.round(values).
// An exception from a signal handler (KeyboardInterrupt) or from the listener cancels the job, and is raised once the
// job has stopped. `listener` may be None. Needs the GIL.
void run_job(const py::object& listener, const std::function<void(Progress&)>& job);

// The same, with a result.
template <class Work>
auto job_result(const py::object& listener, const Work& work) {
  std::optional<decltype(work(std::declval<Progress&>()))> result;
  run_job(listener, [&](Progress& progress) { result.emplace(work(progress)); });
  return std::move(*result);
}

// Handles Python's signals between pieces of work that ran without the GIL; raises what a handler raises.
void check_signals();

}  // namespace bdnn::python
