// Helpers that all verbs of the program share. A verb is one file that adds its subcommand; main.cc lists them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/names.h"
#include "base/with_commas.h"
#include "bdnn/progress.h"
#include "cli/command_line.h"

namespace bdnn::cli {

void add_train(Verb program);
void add_encode(Verb program);
void add_decode(Verb program);
void add_index(Verb program);
void add_search(Verb program);
void add_evaluate(Verb program);
void add_dataset(Verb program);
void add_inspect(Verb program);
void add_convert(Verb program);
void add_methods(Verb program);
void add_reproduce(Verb program);
void add_features(Verb program);

// A verb with an example at the end of its help.
Verb add_verb(Verb program, const std::string& name, const std::string& summary, const std::string& examples);

void add_threads_option(Verb verb, int& threads);
void add_json_option(Verb verb, bool& json);

// Raises misuse for the first of these options that was given: "--bits does not apply" and why.
void refuse(const std::vector<Option>& options, const std::string& why);

// "a (why), b or c": the names of enumerators for help, each with what `said_of` says of it.
template <class Value, std::size_t count, class SaidOf>
std::string alternatives(const Value (&values)[count], const SaidOf& said_of) {
  std::vector<std::string> all;
  for (const Value value : values) all.push_back(std::string(name_of(value)) + said_of(value));
  return in_a_row(all, "or");
}

// Parses each --set name=value, and --pca N, which is short for --set pca=N.
std::map<std::string, std::string> parse_assignments(const std::vector<std::string>& assignments, std::size_t pca);
Option add_pca_option(Verb verb, std::size_t& pca, const std::string& condition = "");

// One line on standard output.
void print_json(const Json& json);

// Writes to standard error; ignores a closed stderr.
void say(const std::string& text);

// A bar with rate and time left on a terminal, nothing in a pipe.
std::unique_ptr<Progress> make_progress();

// Seconds since it was made.
class Stopwatch {
 public:
  Stopwatch();
  double seconds() const;

 private:
  double start_;
};

// The largest resident memory of this process so far, in bytes.
std::size_t peak_memory();

// The text with control characters and invalid UTF-8 replaced by \xNN: messages quote names and file contents.
std::string printable(std::string_view text);

}  // namespace bdnn::cli
