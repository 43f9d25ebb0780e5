#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace bdnn {
namespace {

constexpr std::size_t kKept = 4096;
constexpr int kNotFound = 127;
constexpr int kWatchMilliseconds = 100;

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) failure("cannot make a pipe: {}", std::strerror(errno));
  }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_reader() { close_end(0); }
  void close_writer() { close_end(1); }

 private:
  void close_end(std::size_t i) {
    if (ends_[i] >= 0) ::close(std::exchange(ends_[i], -1));
  }
  std::array<int, 2> ends_ = {-1, -1};
};

// Only calls that are allowed between fork() and exec().
[[noreturn]] void be_the_program(const std::vector<char*>& arguments, int output, int errors, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNotFound);  // the parent has ended
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) ::signal(signal, SIG_DFL);
  }
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  ::execvp(arguments[0], arguments.data());
  ::_exit(kNotFound);
}

// Reads what is there; false at the end.
bool drain(int fd, std::string& text, bool keep_the_end) {
  std::array<char, kKept> buffer;
  const ssize_t n = ::read(fd, buffer.data(), buffer.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  text.append(buffer.data(), static_cast<std::size_t>(n));
  if (text.size() > kKept) {
    if (keep_the_end) {
      text.erase(0, text.size() - kKept);
    } else {
      text.resize(kKept);
    }
  }
  return n > 0;
}

// A child that does not outlive this object.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (pid_ > 0) kill();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int kill() {
    ::kill(pid_, SIGKILL);
    return wait();
  }

  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0) {
      if (errno != EINTR) break;
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, const std::function<bool()>& watch) {
  std::vector<char*> list;
  for (const auto& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
  list.push_back(nullptr);
  Pipe output;
  Pipe errors;
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) failure("cannot start {}: {}", arguments.front(), std::strerror(errno));
  if (pid == 0) be_the_program(list, output.writer(), errors.writer(), parent);
  Child child(pid);
  output.close_writer();
  errors.close_writer();
  ProcessResult result;
  std::array<pollfd, 2> open = {pollfd{output.reader(), POLLIN, 0}, pollfd{errors.reader(), POLLIN, 0}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    const int ready = ::poll(open.data(), open.size(), kWatchMilliseconds);
    if (ready < 0 && errno != EINTR) failure("cannot wait for {}: {}", arguments.front(), std::strerror(errno));
    if (ready > 0 && open[0].revents != 0 && !drain(open[0].fd, result.output, false)) open[0].fd = -1;
    if (ready > 0 && open[1].revents != 0 && !drain(open[1].fd, result.errors, true)) open[1].fd = -1;
    if (watch && !watch()) {
      result.status = child.kill();
      return result;
    }
  }
  result.status = child.wait();
  result.found = result.status != kNotFound;
  return result;
}

}  // namespace bdnn
