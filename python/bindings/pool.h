// Prepared objects (Encoder, Searcher) that are costly to make and not thread-safe: each call borrows one.
#pragma once

#include <unistd.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace bdnn::python {

template <class Key, class Object>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { forget_after_fork(); }

  // An object for `key`: an idle one, else make().
  template <class Make>
  std::unique_ptr<Object> borrow(const Key& key, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      forget_after_fork();
      for (auto& [idle_key, idle] : idle_) {
        if (!(idle_key == key)) continue;
        std::swap(idle_.back().second, idle);
        std::swap(idle_.back().first, idle_key);
        std::unique_ptr<Object> object = std::move(idle_.back().second);
        idle_.pop_back();
        return object;
      }
    }
    return make();
  }

  void give_back(const Key& key, std::unique_ptr<Object> object) {
    constexpr std::size_t kMostIdle = 4;
    const std::lock_guard lock(mutex_);
    forget_after_fork();
    if (idle_.size() < kMostIdle) idle_.emplace_back(key, std::move(object));
  }

 private:
  // A child process has none of its parent's threads, so their owners can neither be used nor destroyed.
  void forget_after_fork() {
    if (process_ == ::getpid()) return;
    process_ = ::getpid();
    for (auto& entry : idle_) static_cast<void>(entry.second.release());
    idle_.clear();
  }

  std::mutex mutex_;
  pid_t process_ = ::getpid();
  std::vector<std::pair<Key, std::unique_ptr<Object>>> idle_;
};

}  // namespace bdnn::python
