#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string_view>

#include "base/files.h"
#include "base/mapped_file.h"
#include "bdnn/error.h"
#include "bdnn/version.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "data/hdf5_probe.h"

namespace {

constexpr int kFailed = 1;
constexpr int kMisused = 2;

std::string version_text() {
  const bdnn::Backend backend = bdnn::backend();
  return fmt::format("bdnn {}\ncommit: {}\nmatrix products: {}\nSIMD target: {}\nLAPACK: {}", bdnn::version(),
                     bdnn::commit(), backend.products, backend.simd, backend.lapack);
}

int run(int argc, char** argv) {
  bdnn::cli::CommandLine command_line(
      "bdnn learns short binary codes for vectors and searches them by Hamming distance.",
      "\n'bdnn VERB --help' shows a verb's options with examples. The environment variable BDNN_TARGET forces "
      "a SIMD target.",
      version_text);
  const bdnn::cli::Verb program = command_line.program();
  bdnn::cli::add_train(program);
  bdnn::cli::add_encode(program);
  bdnn::cli::add_decode(program);
  bdnn::cli::add_index(program);
  bdnn::cli::add_search(program);
  bdnn::cli::add_evaluate(program);
  bdnn::cli::add_reproduce(program);
  bdnn::cli::add_dataset(program);
  bdnn::cli::add_features(program);
  bdnn::cli::add_inspect(program);
  bdnn::cli::add_convert(program);
  bdnn::cli::add_methods(program);

  const auto complain = [&](const char* what, int status) {
    const bool done = bdnn::cli::output_stands();
    bdnn::cli::say(fmt::format("{}: {}{}\n", command_line.chosen_verb(),
                               done ? "warning: the output is written, but reporting it failed: " : "",
                               bdnn::cli::printable(what)));
    return done ? 0 : status;
  };
  try {
    command_line.run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return complain("cannot write the output", kFailed);
    return 0;
  } catch (const bdnn::cli::UsageError& error) {
    complain(error.what(), kMisused);
    bdnn::cli::say(fmt::format("Try '{} --help'.\n", command_line.chosen_verb()));
    return kMisused;
  } catch (const bdnn::Error& error) {
    return complain(error.what(), error.kind() == bdnn::Error::Kind::misuse ? kMisused : kFailed);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailed);
  } catch (const std::exception& error) {
    return complain(error.what(), kFailed);
  }
}

// OpenBLAS starts threads of its own before main(), each with a buffer of 128 MB. If a memory limit denies them that,
// they retry forever and the program hangs. We use only one of its threads, so under a limit the program restarts with
// the variable set to 1; without a limit that is not worth the time.
void start_again_with_less_memory(char** argv) {
  constexpr const char* kVariable = "OPENBLAS_NUM_THREADS";
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (const char* threads = std::getenv(kVariable); threads != nullptr && std::string_view(threads) == "1") return;
  ::setenv(kVariable, "1", 1);
  ::execv("/proc/self/exe", argv);  // if this fails, we continue as we are
}

}  // namespace

int main(int argc, char** argv) {
  start_again_with_less_memory(argv);
  bdnn::remove_temporary_files_on_signals();
  bdnn::hdf5::read_in_a_child_first(true);
  bdnn::explain_files_cut_while_mapped();
  return run(argc, argv);
}
