// The arguments of the program: a narrow interface to CLI11, which takes ten seconds to compile wherever it is
// included.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace bdnn::cli {

// One option of a verb. Copies stand for the same option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  std::string name() const;  // "--bits"
  bool given() const;

  Option required();
  Option shows_default();  // in the help
  Option one_of(const std::vector<std::string>& names);
  Option range(int least, int most);
  Option at_least_1();
  Option separated_by(char delimiter);  // for lists: "8,16,24"
  Option one_at_a_time();               // for lists: repeated, with one value each
  Option excludes(const Option& other);
  Option needs(const Option& other);

 private:
  CLI::Option* option_;
};

// A verb. Options fill the variables they are given, which live as long as the program's command line.
class Verb {
 public:
  explicit Verb(CLI::App* app) : app_(app) {}

  Verb add_verb(const std::string& name, const std::string& summary);
  void requires_verb();  // a subverb must be given

  // Text at the end of the help.
  void examples(const std::string& text);

  // A name without dashes is a positional argument.
  Option text(const std::string& name, std::string& value, const std::string& help);
  Option text(const std::string& name, std::function<void(const std::string&)> take, const std::string& help);
  Option texts(const std::string& name, std::vector<std::string>& values, const std::string& help);
  Option integer(const std::string& name, int& value, const std::string& help);
  // Whole numbers as people write them: digits, without a sign or a leading zero, below 2^64.
  Option number(const std::string& name, std::uint64_t& value, const std::string& help);
  Option numbers(const std::string& name, std::vector<std::uint64_t>& values, const std::string& help);
  // "!--no-decoder" sets the value to false.
  Option flag(const std::string& name, bool& value, const std::string& help);

  // Sets the function to run once all options are parsed.
  void runs(std::function<void()> work);

 private:
  CLI::App* app_;
};

// Raised for arguments that do not parse.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class CommandLine {
 public:
  CommandLine(const std::string& summary, const std::string& footer, std::function<std::string()> version);
  ~CommandLine();

  Verb program();
  std::string chosen_verb() const;  // "bdnn encode"; "bdnn" if there is none

  // Runs the chosen verb, or prints the requested help or version. Raises UsageError.
  void run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace bdnn::cli
