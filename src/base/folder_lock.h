// A folder that one process works in at a time.
#pragma once

#include <functional>
#include <string>

namespace bdnn {

// Makes the folder if it is missing, and locks it until this object goes or the process ends. Nothing is left behind.
// If another process holds the lock, calls `waiting` and waits; without `waiting`, raises Error.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder, const std::function<void()>& waiting = {});
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace bdnn
