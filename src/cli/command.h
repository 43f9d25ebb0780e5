// What the verbs of the program share. A verb is one file that adds its subcommand; main.cc lists them.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bdnn/progress.h"

namespace bdnn::cli {

void add_train(CLI::App& app);
void add_encode(CLI::App& app);
void add_decode(CLI::App& app);
void add_index(CLI::App& app);
void add_search(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_dataset(CLI::App& app);
void add_inspect(CLI::App& app);
void add_convert(CLI::App& app);
void add_methods(CLI::App& app);

// A subcommand with an example at the end of its help.
CLI::App* add_verb(CLI::App& app, const std::string& name, const std::string& summary, const std::string& examples);

// Checks that an option is a whole number as people write it: digits, without a sign or a leading zero, below 2^63.
CLI::Validator whole_number();

void add_threads_option(CLI::App* verb, int& threads);
void add_json_option(CLI::App* verb, bool& json);

// --set name=value, as often as given.
std::map<std::string, std::string> parse_assignments(const std::vector<std::string>& assignments);

// One line on standard output. A name that is not valid UTF-8, which JSON must be, is shown with replacement marks.
void print_json(const nlohmann::ordered_json& json);

// To standard error. That nobody may be listening there is no failure.
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

// With what a terminal would take for commands, or could not show, as \xNN: messages quote names and file contents.
std::string printable(std::string_view text);

// 60000 -> "60,000"
std::string with_commas(std::uint64_t n);

}  // namespace bdnn::cli
