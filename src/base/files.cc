#include "base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "base/error.h"

namespace bdnn {
namespace {

std::string reason() { return std::strerror(errno); }

// Temporary names that the signal handler must remove. Fixed storage: a handler may not allocate or lock.
struct TemporarySlot {
  std::atomic<bool> taken{false};
  std::atomic<bool> live{false};
  std::array<char, PATH_MAX> path{};
};
std::array<TemporarySlot, 16> temporary_slots;

int take_slot(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < temporary_slots.size(); ++i) {
    auto& slot = temporary_slots[i];
    if (slot.taken.exchange(true)) continue;
    std::memcpy(slot.path.data(), path.c_str(), path.size() + 1);
    slot.live = true;
    return static_cast<int>(i);
  }
  return -1;
}

void release_slot(int slot) {
  if (slot < 0) return;
  auto& entry = temporary_slots[static_cast<std::size_t>(slot)];
  entry.live = false;
  entry.taken = false;
}

void remove_and_die(int signal) {
  remove_temporary_files();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void write_fully(int fd, const std::string& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      failure("{}: cannot write: {}", path, reason());
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

// Where the bytes of an output really go: symbolic links are followed, but not within /proc, whose links
// (/proc/self/fd/1, which /dev/stdout leads to) stand for something that is open already.
struct Target {
  std::string path;
  bool open_already = false;
};
Target resolve(const std::string& path) {
  constexpr int kMostLinks = 40;  // the kernel's limit
  std::filesystem::path at = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    // Of the directory, not of the file: /dev/fd is a link, and the file itself need not be there yet.
    const auto directory = std::filesystem::canonical(at.has_parent_path() ? at.parent_path() : ".", error);
    if (!error && directory.string().starts_with("/proc/")) return {path, true};
    const auto link = std::filesystem::read_symlink(at, error);
    if (error) return {at.string(), false};  // not a link
    at = link.is_absolute() ? link : at.parent_path() / link;
  }
  failure("{}: cannot write: too many symbolic links", path);
}

// Opens what is written directly. A pipe without a reader would block until there is one.
int open_directly(const std::string& path, bool pipe) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | (pipe ? O_NONBLOCK : 0));
  if (fd < 0 && pipe && errno == ENXIO)
    failure("{}: cannot write: nobody reads this pipe; start its reader first", path);
  if (fd >= 0 && pipe) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

// With its slash at the end; empty for the working directory.
std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// Makes a rename to `target` durable; `path` is what messages call it.
void sync_directory_of(const std::string& target, const std::string& path) {
  constexpr const char* kInDoubt = "{}: is in place, but may be lost if the power fails: cannot sync its folder: {}";
  const std::string directory = directory_of(target);
  const int fd = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == EACCES) return ::sync();  // may be written to but not opened; this syncs everything
  if (fd < 0) failure(kInDoubt, path, reason());
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  // EINVAL: this file system has no such operation.
  if (error != 0 && error != EINVAL) failure(kInDoubt, path, std::strerror(error));
}

// Temporary names are ".", the name of the destination, "." and this many hexadecimal digits.
constexpr std::size_t kTemporaryDigits = 8;

// The start of the names of a target's temporary files. It is cut off if the target's name is near the length limit.
std::string temporary_start(const std::string& target) {
  return fmt::format(".{}.", file_name(target).substr(0, NAME_MAX - kTemporaryDigits - 2));
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  // Non-blocking, so as not to wait for the other end of a pipe, which is refused below.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) failure("{}: cannot open: {}", path, reason());
  struct stat info {};
  if (::fstat(fd_, &info) != 0 || S_ISDIR(info.st_mode)) {
    ::close(fd_);
    failure("{}: is {}; give a file", path, S_ISDIR(info.st_mode) ? "a directory" : "unreadable");
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd_);
    failure("{}: is not a regular file; bdnn reads some formats out of order, so save it to a file first", path);
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::size_t InputFile::read_some_at(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0) {
      if (errno == EINTR) continue;
      failure("{}: cannot read at byte {}: {}", path_, offset + done, reason());
    }
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  const std::size_t n = read_some_at(offset, out);
  if (n < out.size()) {
    failure("{}: is truncated: {} bytes wanted at byte {}, {} there", path_, out.size(), offset, n);
  }
}

std::string read_whole_file(const std::string& path, std::uint64_t limit) {
  const InputFile file(path);
  if (file.size() > limit) failure("{}: is {} bytes long; at most {} are expected", path, file.size(), limit);
  std::string text(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (path.empty()) misuse("the output has an empty name; name a file");
  const Target target = resolve(path);
  target_ = target.path;
  struct stat info {};
  const bool exists = ::stat(target_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) failure("{}: cannot write: is a directory; name a file in it", path);
  direct_ = target.open_already || (exists && !S_ISREG(info.st_mode));
  if (direct_) {
    temporary_ = target_;
    fd_ = open_directly(target_, exists && S_ISFIFO(info.st_mode));
    seekable_ = fd_ >= 0 && ::lseek(fd_, 0, SEEK_CUR) >= 0 && exists && S_ISREG(info.st_mode);
  } else {
    // Beside the destination, so that the rename stays within one file system.
    const std::string start = directory_of(target_) + temporary_start(target_);
    std::random_device random;
    do {
      temporary_ = fmt::format("{}{:0{}x}", start, random(), kTemporaryDigits);
      fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EEXIST);
    if (fd_ >= 0) {
      if (exists) ::fchmod(fd_, info.st_mode & 07777);
      ::flock(fd_, LOCK_EX | LOCK_NB);  // marks it as in use, for temporary_files_of()
      slot_ = take_slot(temporary_);
    }
  }
  if (fd_ < 0) failure("{}: cannot write: {}", path, reason());
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!direct_) ::unlink(temporary_.c_str());
  release_slot(slot_);
}

void OutputFile::write(std::span<const std::byte> bytes) { write_fully(fd_, path_, bytes); }

void OutputFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0) {
      if (errno == EINTR) continue;
      failure("{}: cannot write: {}", path_, reason());
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

void OutputFile::commit() {
  if (!direct_ && ::fsync(fd_) != 0) failure("{}: cannot write: {}", path_, reason());
  if (::close(std::exchange(fd_, -1)) != 0) {
    const std::string why = reason();
    if (!direct_) ::unlink(temporary_.c_str());
    release_slot(slot_);
    failure("{}: cannot write: {}", path_, why);
  }
  if (direct_) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const std::string why = reason();
    ::unlink(temporary_.c_str());
    release_slot(slot_);
    failure("{}: cannot write: {}", path_, why);
  }
  release_slot(slot_);
  sync_directory_of(target_, path_);
}

void remove_temporary_files() noexcept {
  for (auto& slot : temporary_slots) {
    if (slot.live) ::unlink(slot.path.data());
  }
}

std::vector<TemporaryFile> temporary_files_of(const std::string& destination) {
  const std::string target = resolve(destination).path;
  const std::string start = temporary_start(target);
  const std::string directory = directory_of(target);
  std::vector<TemporaryFile> found;
  std::error_code unreadable;  // an unreadable folder has no temporary files that we know of
  std::filesystem::directory_iterator entry(directory.empty() ? "." : directory, unreadable);
  for (; !unreadable && entry != std::filesystem::directory_iterator(); entry.increment(unreadable)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(start) || name.size() != start.size() + kTemporaryDigits ||
        name.find_first_not_of("0123456789abcdef", start.size()) != std::string::npos) {
      continue;
    }
    const int fd = ::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) continue;  // gone, or not ours
    const bool in_use = ::flock(fd, LOCK_SH | LOCK_NB) != 0;
    struct stat info {};
    if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
      found.push_back({directory + name, static_cast<std::uint64_t>(info.st_size), in_use});
    }
    ::close(fd);
  }
  return found;
}

void remove_temporary_files_on_signals() {
  std::signal(SIGXFSZ, SIG_IGN);  // then the write fails, and is reported like a full disk
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // as nohup sets it
    action = {};
    action.sa_handler = remove_and_die;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}

std::string file_name(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace bdnn
