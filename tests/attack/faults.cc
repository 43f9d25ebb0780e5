// Makes system calls of a program fail, for tests: LD_PRELOAD=libbdnn_faults.so.
//
// Counts the calls on files of a folder, and does something to the n-th:
//
//     BDNN_FAULT_FOLDER   only files whose paths start with this, and their descriptors, count
//     BDNN_FAULT_LOG      append the name of each counted call to this file
//     BDNN_FAULT_AT       n, from 1
//     BDNN_FAULT          what happens then: the number of an error, or
//                           kill   the process ends before the call, as by kill -9
//                           tear   it ends after half of what a write was to write
//                           short  a write does half of its work, as it may
//                           cut    a file that is closed, but perhaps still mapped, is cut to 4,096 bytes
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::array<std::atomic<bool>, 4096> counted_descriptors{};
std::atomic<int> calls{0};

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool counts(const char* path) {
  const char* folder = setting("BDNN_FAULT_FOLDER");
  return *folder != '\0' && std::strncmp(path, folder, std::strlen(folder)) == 0;
}

bool counts(int fd) { return fd >= 0 && fd < static_cast<int>(counted_descriptors.size()) && counted_descriptors[fd]; }

void remember(int fd, bool whether) {
  if (fd >= 0 && fd < static_cast<int>(counted_descriptors.size())) counted_descriptors[fd] = whether;
}

// What is to happen to this call: nothing if it is not the one.
std::string fault_of(const char* name) {
  const char* log = setting("BDNN_FAULT_LOG");
  if (*log != '\0') {
    const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0666));
    const std::string line = std::string(name) + "\n";
    ::syscall(SYS_write, fd, line.data(), line.size());
    ::syscall(SYS_close, fd);
  }
  if (++calls != std::atoi(setting("BDNN_FAULT_AT"))) return "";
  std::string fault = setting("BDNN_FAULT");
  if (fault == "kill") ::kill(::getpid(), SIGKILL);
  return fault;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool is_error(const std::string& fault) { return !fault.empty() && std::isdigit(static_cast<unsigned char>(fault[0])); }

// A call that either fails or is made.
template <class Result, class Call>
Result fail_or(const char* name, Result failed, const Call& call) {
  const std::string fault = fault_of(name);
  if (!is_error(fault)) return call();
  errno = std::atoi(fault.c_str());
  return failed;
}

// A call that transfers bytes.
template <class Call>
ssize_t transfer(const char* name, std::size_t bytes, const Call& call) {
  const std::string fault = fault_of(name);
  if (is_error(fault)) {
    errno = std::atoi(fault.c_str());
    return -1;
  }
  if (fault != "tear" && fault != "short") return call(bytes);
  const ssize_t done = call(bytes > 1 ? bytes / 2 : bytes);
  if (fault == "tear") ::kill(::getpid(), SIGKILL);
  return done;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  const auto call = [&] { return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode)); };
  if (!counts(path)) return call();
  const int fd = fail_or("open", -1, call);
  remember(fd, true);
  return fd;
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open(path, flags, mode);
}

int close(int fd) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_close, fd)); };
  if (!counts(fd)) return call();
  remember(fd, false);
  // The descriptor is gone even where close() fails.
  const std::string fault = fault_of("close");
  if (fault == "cut") {
    std::array<char, 4096> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (::readlink(link.c_str(), path.data(), path.size() - 1) < 0 || ::truncate(path.data(), 4096) != 0) std::abort();
  }
  call();
  if (is_error(fault)) errno = std::atoi(fault.c_str());
  return is_error(fault) ? -1 : 0;
}

ssize_t write(int fd, const void* from, std::size_t bytes) {
  const auto call = [&](std::size_t n) { return static_cast<ssize_t>(::syscall(SYS_write, fd, from, n)); };
  return counts(fd) ? transfer("write", bytes, call) : call(bytes);
}

ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) {
  const auto call = [&](std::size_t n) { return static_cast<ssize_t>(::syscall(SYS_pwrite64, fd, from, n, at)); };
  return counts(fd) ? transfer("pwrite", bytes, call) : call(bytes);
}
ssize_t pwrite64(int fd, const void* from, std::size_t bytes, off_t at) { return pwrite(fd, from, bytes, at); }

ssize_t read(int fd, void* to, std::size_t bytes) {
  const auto call = [&](std::size_t n) { return static_cast<ssize_t>(::syscall(SYS_read, fd, to, n)); };
  return counts(fd) ? transfer("read", bytes, call) : call(bytes);
}

ssize_t pread(int fd, void* to, std::size_t bytes, off_t at) {
  const auto call = [&](std::size_t n) { return static_cast<ssize_t>(::syscall(SYS_pread64, fd, to, n, at)); };
  return counts(fd) ? transfer("pread", bytes, call) : call(bytes);
}
ssize_t pread64(int fd, void* to, std::size_t bytes, off_t at) { return pread(fd, to, bytes, at); }

int fsync(int fd) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_fsync, fd)); };
  return counts(fd) ? fail_or("fsync", -1, call) : call();
}

int fdatasync(int fd) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_fdatasync, fd)); };
  return counts(fd) ? fail_or("fdatasync", -1, call) : call();
}

int ftruncate(int fd, off_t bytes) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_ftruncate, fd, bytes)); };
  return counts(fd) ? fail_or("ftruncate", -1, call) : call();
}
int ftruncate64(int fd, off_t bytes) { return ftruncate(fd, bytes); }

int flock(int fd, int operation) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_flock, fd, operation)); };
  return counts(fd) ? fail_or("flock", -1, call) : call();
}

int fchmod(int fd, mode_t mode) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_fchmod, fd, mode)); };
  return counts(fd) ? fail_or("fchmod", -1, call) : call();
}

int fstat(int fd, struct stat* info) {
  const auto call = [&] { return real<int(int, struct stat*)>("fstat")(fd, info); };
  return counts(fd) ? fail_or("fstat", -1, call) : call();
}

int stat(const char* path, struct stat* info) {
  const auto call = [&] { return real<int(const char*, struct stat*)>("stat")(path, info); };
  return counts(path) ? fail_or("stat", -1, call) : call();
}

int unlink(const char* path) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_unlink, path)); };
  return counts(path) ? fail_or("unlink", -1, call) : call();
}

int rename(const char* from, const char* to) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_rename, from, to)); };
  return counts(to) ? fail_or("rename", -1, call) : call();
}

void* mmap(void* address, std::size_t bytes, int protection, int flags, int fd, off_t at) {
  const auto call = [&] {
    return reinterpret_cast<void*>(::syscall(SYS_mmap, address, bytes, protection, flags, fd, at));
  };
  if (!counts(fd)) return call();
  const std::string fault = fault_of("mmap");
  if (is_error(fault)) {
    errno = std::atoi(fault.c_str());
    return MAP_FAILED;
  }
  return call();
}
void* mmap64(void* address, std::size_t bytes, int protection, int flags, int fd, off_t at) {
  return mmap(address, bytes, protection, flags, fd, at);
}

}  // extern "C"
