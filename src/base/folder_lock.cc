#include "base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"

namespace bdnn {

namespace {

// Whether a path still leads to the open folder: the previous holder of the lock may have removed it.
bool is_at(int fd, const std::string& path) {
  struct stat open {};
  struct stat there {};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &there) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, const std::function<void()>& waiting) {
  bool told = false;
  while (true) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) failure("{}: cannot make this folder: {}", folder, error.message());
    fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd_ < 0 && errno == ENOENT) continue;
    if (fd_ < 0) failure("{}: cannot open: {}", folder, std::strerror(errno));
    int status = ::flock(fd_, LOCK_EX | LOCK_NB);
    if (status != 0 && errno == EWOULDBLOCK && waiting) {
      if (!std::exchange(told, true)) waiting();
      status = ::flock(fd_, LOCK_EX);
    }
    if (status == 0 && is_at(fd_, folder)) return;
    const int why = errno;
    ::close(fd_);
    if (status == 0 || why == EINTR) continue;
    if (why == EWOULDBLOCK)
      failure("{}: another process is working in this folder; wait for it or use another", folder);
    failure("{}: cannot lock: {}", folder, std::strerror(why));
  }
}

FolderLock::~FolderLock() { ::close(fd_); }

}  // namespace bdnn
