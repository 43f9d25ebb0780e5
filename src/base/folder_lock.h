// A folder that one process works in at a time.
#pragma once

#include <string>

namespace bdnn {

// Makes the folder if it is missing, and locks it until this object goes or the process ends. Nothing is left behind.
// Does not wait: raises Error if another process holds the lock.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace bdnn
