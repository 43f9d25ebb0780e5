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
  CLI::App app("bdnn learns short binary codes for vectors and searches them by Hamming distance.");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text,
                       "Print the version, the linear algebra behind it and the SIMD target");
  app.footer(
      "\n'bdnn VERB --help' shows a verb's options with examples. The environment variable BDNN_TARGET forces "
      "a SIMD target.");
  bdnn::cli::add_train(app);
  bdnn::cli::add_encode(app);
  bdnn::cli::add_decode(app);
  bdnn::cli::add_index(app);
  bdnn::cli::add_search(app);
  bdnn::cli::add_evaluate(app);
  bdnn::cli::add_dataset(app);
  bdnn::cli::add_inspect(app);
  bdnn::cli::add_convert(app);
  bdnn::cli::add_methods(app);

  const auto verb_name = [&] {
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? std::string("bdnn") : "bdnn " + chosen.front()->get_name();
  };
  const auto complain = [&](const char* what, int status) {
    bdnn::cli::say(fmt::format("{}: {}\n", verb_name(), bdnn::cli::printable(what)));
    return status;
  };
  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return complain("cannot write the output", kFailed);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    complain(error.what(), kMisused);
    bdnn::cli::say(fmt::format("Try '{} --help'.\n", verb_name()));
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
