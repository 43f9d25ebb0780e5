// A file that is changed in place, by one writer at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/files.h"

namespace bdnn {

// Opens a file for writing, and locks it against other writers during its lifetime. If another writer holds the lock,
// calls `waiting` and waits. If that writer replaces the file meanwhile, the lock is on the new file.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path, const std::function<void()>& waiting = {});
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const;
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  // The content is durable on return; `otherwise` begins the message of the Error if it is not.
  void sync(const char* otherwise = "cannot write");
  void cut(std::uint64_t size) noexcept;  // truncates the file, if possible

 private:
  std::string path_;
  int fd_ = -1;
};

// Whether a writer holds a file now. The system releases the lock of a process that ends, so none is left behind.
bool is_locked(const InputFile& file);

}  // namespace bdnn
