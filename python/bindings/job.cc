#include "job.h"

#include <chrono>
#include <thread>

namespace bdnn::python {
namespace {

struct Cancelled {};

class JobProgress final : public Progress {
 public:
  struct Update {
    std::string stage;
    std::size_t done;
    std::size_t total;
  };

  void update(std::string_view stage, std::size_t done, std::size_t total) override {
    poll();
    const std::lock_guard lock(mutex_);
    // The last update of a stage is kept, so that its bar ends full.
    if (!updates_.empty() && updates_.back().stage == stage) updates_.pop_back();
    updates_.push_back({std::string(stage), done, total});
  }

  void round(const Round& values) override {
    poll();
    const std::lock_guard lock(mutex_);
    rounds_.push_back(values);
  }

  void poll() override {
    if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled();
  }

  void cancel() { cancelled_ = true; }

  std::pair<std::vector<Update>, std::vector<Round>> take() {
    const std::lock_guard lock(mutex_);
    return {std::exchange(updates_, {}), std::exchange(rounds_, {})};
  }

 private:
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::vector<Update> updates_;
  std::vector<Round> rounds_;
};

void tell(const py::object& listener, JobProgress& progress) {
  const auto [updates, rounds] = progress.take();
  if (listener.is_none()) return;
  for (const auto& [stage, done, total] : updates) listener.attr("update")(stage, done, total);
  for (const auto& round : rounds) {
    py::dict values;
    for (const auto& [name, value] : round) values[py::str(name)] = value;
    listener.attr("round")(values);
  }
}

}  // namespace

void check_signals() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

void run_job(const py::object& listener, const std::function<void(Progress&)>& job) {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
  JobProgress progress;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::exception_ptr failed;  // in the job
  std::thread worker([&] {
    try {
      job(progress);
    } catch (...) {
      failed = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    done = true;
    ended.notify_one();
  });
  std::exception_ptr interrupted;  // in Python
  for (bool running = true; running;) {
    {
      const py::gil_scoped_release no_gil;
      std::unique_lock lock(mutex);
      running = !ended.wait_for(lock, kBetweenLooks, [&] { return done; });
    }
    if (interrupted) continue;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      tell(listener, progress);
    } catch (...) {
      interrupted = std::current_exception();
      progress.cancel();
    }
  }
  worker.join();
  if (interrupted) std::rethrow_exception(interrupted);
  if (failed) std::rethrow_exception(failed);
}

}  // namespace bdnn::python
