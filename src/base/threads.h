// Work spread over threads, with results that do not depend on their number.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace bdnn {

class Progress;

inline constexpr int kMostThreads = 4096;

// A team of threads that lives as long as this object. The caller's thread is its worker 0.
class Threads {
 public:
  // 0: one per core. Fewer if the system grants no more; a negative count or one above kMostThreads raises Error. If
  // `progress` is given, it is polled before every block, and an exception from it ends the work.
  explicit Threads(int count = 0, Progress* progress = nullptr);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return static_cast<int>(helpers_.size()) + 1; }

  // Calls work(block, worker) for every block in [0, blocks), each on one thread; `worker` in [0, count()) is
  // its number, so that it can have its own buffers. The exception of the lowest block that failed is rethrown.
  void for_each(std::size_t blocks, const std::function<void(std::size_t block, int worker)>& work);

  // As for_each; and after work(block, worker), commit(block, worker) is called on the same thread: in block order,
  // one at a time. Sums that are added up in commit() are therefore the same for any number of threads, and
  // at most count() blocks are held in memory.
  void in_order(std::size_t blocks, const std::function<void(std::size_t block, int worker)>& work,
                const std::function<void(std::size_t block, int worker)>& commit);

 private:
  void run(const std::function<void(int worker)>& job);  // on every worker, and waits for all
  void serve(int worker);

  Progress* progress_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(int)>* job_ = nullptr;
  std::size_t round_ = 0;
  int busy_ = 0;
  bool stop_ = false;
  std::vector<std::thread> helpers_;
};

// A gate that blocks pass in their order, one at a time. Once a passage has failed, later ones are skipped.
class Turns {
 public:
  // Waits until all blocks before this one have passed, then calls `passage`. Every block must come exactly once.
  template <class Passage>
  void take(std::size_t block, const Passage& passage) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return turn_ == block; });
    std::exception_ptr failed;
    if (!broken_) {
      try {
        passage();
      } catch (...) {
        broken_ = true;
        failed = std::current_exception();
      }
    }
    ++turn_;
    lock.unlock();
    came_.notify_all();
    if (failed) std::rethrow_exception(failed);
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::size_t turn_ = 0;
  bool broken_ = false;
};

}  // namespace bdnn
