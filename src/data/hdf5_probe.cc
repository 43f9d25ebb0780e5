#include "data/hdf5_probe.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace bdnn::hdf5 {
namespace {

std::atomic<bool> in_a_child{false};

// A damaged file may also make the library loop forever, or allocate memory without end.
constexpr rlim_t kSeconds = 60;

[[noreturn]] void be_the_child(const std::function<void()>& read) {
  // The program's handlers would remove temporary files that are the parent's; a crash needs no core file.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGSEGV, SIGBUS, SIGABRT}) {
    std::signal(signal, SIG_DFL);
  }
  const struct rlimit no_core { 0, 0 };
  ::setrlimit(RLIMIT_CORE, &no_core);
  const struct rlimit time { kSeconds, kSeconds };
  ::setrlimit(RLIMIT_CPU, &time);
  // The library's message on abort is not for the user.
  ::close(STDERR_FILENO);
  try {
    read();
  } catch (...) {  // the caller will get the same
  }
  ::_exit(0);
}

}  // namespace

void read_in_a_child_first(bool on) { in_a_child = on; }

void probe(const std::string& path, const std::function<void()>& read) {
  if (!in_a_child) return;
  const pid_t child = ::fork();
  if (child == 0) be_the_child(read);
  if (child < 0) return;  // no process available; the file may well be sound
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return;
  }
  if (WIFEXITED(status)) {
    if (WEXITSTATUS(status) == 0) return;
    failure("{}: is damaged: the HDF5 library exits on it (status {})", path, WEXITSTATUS(status));
  }
  const int signal = WTERMSIG(status);
  if (signal == SIGXCPU || signal == SIGKILL) {
    failure("{}: is damaged, or too large to be checked: the HDF5 library did not finish reading it", path);
  }
  failure("{}: is damaged: the HDF5 library crashes on it ({})", path, ::strsignal(signal));
}

}  // namespace bdnn::hdf5
