#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <system_error>

#include "base/error.h"
#include "bdnn/progress.h"

namespace bdnn {

Threads::Threads(int count, Progress* progress) : progress_(progress) {
  if (count < 0 || count > kMostThreads) {
    misuse("{} threads are not possible; ask for 1 to {}, or 0 for one per core", count, kMostThreads);
  }
  const int cores = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
  // Thousands on a few cores would spend their time waking each other.
  constexpr int kManyForAnyMachine = 128;
  count = count == 0 ? cores : std::min(count, std::max(kManyForAnyMachine, cores));
  helpers_.reserve(static_cast<std::size_t>(count - 1));
  for (int worker = 1; worker < count; ++worker) {
    try {
      helpers_.emplace_back([this, worker] { serve(worker); });
    } catch (const std::system_error&) {
      break;  // the system grants no more; results do not depend on their number
    }
  }
}

Threads::~Threads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& helper : helpers_) helper.join();
}

void Threads::serve(int worker) {
  std::size_t seen = 0;
  while (true) {
    const std::function<void(int)>* job = nullptr;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
      job = job_;
    }
    (*job)(worker);
    {
      const std::lock_guard lock(mutex_);
      --busy_;
    }
    done_.notify_one();
  }
}

void Threads::run(const std::function<void(int)>& job) {
  if (helpers_.empty()) return job(0);
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    busy_ = static_cast<int>(helpers_.size());
    ++round_;
  }
  wake_.notify_all();
  job(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return busy_ == 0; });
  job_ = nullptr;
}

void Threads::for_each(std::size_t blocks, const std::function<void(std::size_t, int)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex failure_mutex;
  std::size_t failed_block = std::numeric_limits<std::size_t>::max();
  std::exception_ptr failed;
  std::atomic<bool> stop{false};
  const auto job = [&](int worker) {
    // Blocks are handed out in order, so every block below a failed one has been started and will be finished.
    while (!stop) {
      if (progress_ != nullptr) {
        try {
          progress_->poll();
        } catch (...) {  // only before a block is taken: every block taken is finished, so no turn is missed
          const std::lock_guard lock(failure_mutex);
          stop = true;
          if (!failed) failed = std::current_exception();
          return;
        }
      }
      const std::size_t block = next.fetch_add(1);
      if (block >= blocks) return;
      try {
        work(block, worker);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        stop = true;
        if (block < failed_block) {
          failed_block = block;
          failed = std::current_exception();
        }
      }
    }
  };
  run(std::ref(job));  // by reference, which takes no memory
  if (failed) std::rethrow_exception(failed);
}

void Threads::in_order(std::size_t blocks, const std::function<void(std::size_t, int)>& work,
                       const std::function<void(std::size_t, int)>& commit) {
  Turns turns;
  for_each(blocks, [&](std::size_t block, int worker) {
    std::exception_ptr failed;
    try {
      work(block, worker);
    } catch (...) {
      failed = std::current_exception();
    }
    turns.take(block, [&] {
      if (failed) std::rethrow_exception(failed);
      commit(block, worker);
    });
  });
}

}  // namespace bdnn
