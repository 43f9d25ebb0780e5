#include "base/locked_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace bdnn {

LockedFile::LockedFile(const std::string& path, const std::function<void()>& waiting) : path_(path) {
  bool told = !waiting;
  while (true) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd_ < 0) failure("{}: cannot open for writing: {}", path, std::strerror(errno));
    while (::flock(fd_, told ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      if (error == EWOULDBLOCK && !std::exchange(told, true)) {
        waiting();
        continue;
      }
      ::close(fd_);
      failure("{}: cannot lock: {}", path, std::strerror(error));
    }
    struct stat here {};
    struct stat there {};
    const bool known = ::fstat(fd_, &here) == 0 && ::stat(path.c_str(), &there) == 0;
    if (known && here.st_ino == there.st_ino && here.st_dev == there.st_dev) return;
    ::close(fd_);
    if (!known) failure("{}: was removed", path);
  }
}

LockedFile::~LockedFile() { ::close(fd_); }

std::uint64_t LockedFile::size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) failure("{}: cannot read: {}", path_, std::strerror(errno));
  return static_cast<std::uint64_t>(info.st_size);
}

void LockedFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0) {
      if (errno == EINTR) continue;
      failure("{}: cannot write: {}", path_, std::strerror(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

void LockedFile::sync(const char* otherwise) {
  if (::fdatasync(fd_) != 0) failure("{}: {}: {}", path_, otherwise, std::strerror(errno));
}

void LockedFile::cut(std::uint64_t size) noexcept {
  // If this fails, the next writer overwrites the rest.
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) return;
}

bool is_locked(const InputFile& file) {
  if (::flock(file.descriptor(), LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  ::flock(file.descriptor(), LOCK_UN);
  return false;
}

}  // namespace bdnn
