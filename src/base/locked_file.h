// A file that is changed in place, by one writer at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/files.h"

namespace bdnn {

// Open for writing, and locked against other writers until it goes. Waits for a writer that holds it, after a call of
// `waiting`. Where that one put another file in its place meanwhile, the lock is on the new one.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path, const std::function<void()>& waiting = {});
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const;
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void sync(
      const char* otherwise = "cannot write");  // durable when it returns; an Error says what is the case otherwise
  void cut(std::uint64_t size) noexcept;        // gives back what stands beyond, if that is possible

 private:
  std::string path_;
  int fd_ = -1;
};

// Whether a writer holds a file now. The system ends a lock with its process, so none is ever left behind.
bool is_locked(const InputFile& file);

}  // namespace bdnn
