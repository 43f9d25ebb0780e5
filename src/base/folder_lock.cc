#include "base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace bdnn {

FolderLock::FolderLock(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) failure("{}: cannot make this folder: {}", folder, error.message());
  fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0) failure("{}: cannot open: {}", folder, std::strerror(errno));
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    ::close(fd_);
    if (why == EWOULDBLOCK)
      failure("{}: another process is working in this folder; wait for it or use another", folder);
    failure("{}: cannot lock: {}", folder, std::strerror(why));
  }
}

FolderLock::~FolderLock() { ::close(fd_); }

}  // namespace bdnn
