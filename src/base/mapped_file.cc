#include "base/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace bdnn {
namespace {

// The mappings, for the signal handler. Fixed storage: a handler may not allocate or lock.
struct Mapping {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};  // 0 while the other members are being set
  std::array<char, PATH_MAX> path{};
};
std::array<Mapping, 64> mappings;  // further mappings get no message

Mapping* enter(const void* address, std::uint64_t bytes, const std::string& path) {
  for (Mapping& mapping : mappings) {
    if (path.size() >= mapping.path.size() || mapping.taken.exchange(true)) continue;
    std::memcpy(mapping.path.data(), path.c_str(), path.size() + 1);
    mapping.begin = reinterpret_cast<std::uintptr_t>(address);
    mapping.end = mapping.begin + bytes;
    return &mapping;
  }
  return nullptr;
}

void leave(Mapping* mapping) {
  if (mapping == nullptr) return;
  mapping->end = 0;
  mapping->taken = false;
}

void say(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // stderr is closed
}

struct sigaction handler_before {};

void explain_and_exit(int signal, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const Mapping& mapping : mappings) {
    if (address < mapping.begin || address >= mapping.end) continue;
    remove_temporary_files();
    say("bdnn: ");
    say(mapping.path.data());
    say(": was truncated or became unreadable while it was in use; replace a file by renaming another onto it\n");
    ::_exit(1);
  }
  ::sigaction(signal, &handler_before, nullptr);  // on return the read is retried, and handled by it
}

}  // namespace

std::shared_ptr<const void> map_file(const InputFile& file, std::uint64_t bytes) {
  if (bytes == 0) return {&mappings, [](const void*) {}};  // nothing to read, but not a null pointer
  void* address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (address == MAP_FAILED) failure("{}: cannot map: {}", file.path(), std::strerror(errno));
  Mapping* const mapping = enter(address, bytes, file.path());
  std::shared_ptr<const void> memory(address, [bytes, mapping](const void* p) {
    leave(mapping);
    ::munmap(const_cast<void*>(p), bytes);
  });
  struct stat now {};
  if (::fstat(file.descriptor(), &now) != 0 || static_cast<std::uint64_t>(now.st_size) < bytes) {
    failure("{}: became shorter while it was opened", file.path());
  }
  return memory;
}

void explain_files_cut_while_mapped() {
  struct sigaction action {};
  action.sa_sigaction = explain_and_exit;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &handler_before);
}

}  // namespace bdnn
