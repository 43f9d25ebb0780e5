#include <fmt/format.h>

#include <new>

#include "base/files.h"
#include "bdnn/error.h"
#include "bdnn/version.h"
#include "cli/command.h"

namespace {

constexpr int kFailed = 1;
constexpr int kMisused = 2;

std::string version_text() {
  const bdnn::Backend backend = bdnn::backend();
  return fmt::format("bdnn {}\nmatrix products: {}\nSIMD target: {}\nLAPACK: {}", bdnn::version(), backend.products,
                     backend.simd, backend.lapack);
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
  bdnn::cli::add_inspect(program);
  bdnn::cli::add_convert(program);
  bdnn::cli::add_methods(program);

  const auto complain = [&](const char* what, int status) {
    bdnn::cli::say(fmt::format("{}: {}\n", command_line.chosen_verb(), bdnn::cli::printable(what)));
    return status;
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

}  // namespace

int main(int argc, char** argv) {
  bdnn::remove_temporary_files_on_signals();
  return run(argc, argv);
}
