#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "base/nearest_name.h"

namespace bdnn::cli {
namespace {

CLI::Validator whole_number() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool whole = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos &&
                           (text.size() == 1 || text[0] != '0');
        if (whole && error == std::errc() && end == text.data() + text.size()) return "";
        return "'" + text + "' is not a whole number" + (whole ? " below 2^64" : "");
      },
      "N");
}

// Raises UsageError for the first unknown argument, if there is one.
void complain_about_the_unknown(const CLI::App& program) {
  const CLI::App* verb = &program;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  // CLI11 passes arguments that a verb does not know up to the program.
  const bool by_program = verb->remaining().empty();
  const std::vector<std::string> unknown = by_program ? program.remaining(true) : verb->remaining();
  if (unknown.empty()) return;
  const std::string name = unknown.front().substr(0, unknown.front().find('='));
  std::vector<std::string> known;
  if (name.starts_with('-')) {
    for (const CLI::Option* option : verb->get_options()) {
      for (const std::string& text : option->get_lnames()) known.push_back("--" + text);
      for (const std::string& text : option->get_snames()) known.push_back("-" + text);
    }
    throw UsageError("unknown option " + name + did_you_mean(name, known));
  }
  for (const CLI::App* sub : verb->get_subcommands(nullptr)) known.push_back(sub->get_name());
  if (known.empty()) throw UsageError("'" + unknown.front() + "' is one argument too many");
  throw UsageError("unknown verb '" + unknown.front() + "'" + did_you_mean(unknown.front(), known));
}

}  // namespace

std::string Option::name() const { return option_->get_name(); }
bool Option::given() const { return option_->count() > 0; }

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::shows_default() {
  option_->capture_default_str();
  return *this;
}

Option Option::one_of(const std::vector<std::string>& names) {
  option_->check(CLI::IsMember(names));
  return *this;
}

Option Option::range(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option Option::at_least_1() {
  option_->check(
      CLI::Validator([](const std::string& text) { return text == "0" ? "0 is too few; give 1 or more" : ""; }, ""));
  return *this;
}

Option Option::separated_by(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}

Option Option::one_at_a_time() {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Verb Verb::add_verb(const std::string& name, const std::string& summary) {
  return Verb(app_->add_subcommand(name, summary));
}

void Verb::requires_verb() { app_->require_subcommand(1); }

void Verb::examples(const std::string& text) { app_->footer("\nExamples:\n" + text); }

Option Verb::text(const std::string& name, std::string& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Verb::text(const std::string& name, std::function<void(const std::string&)> take, const std::string& help) {
  return Option(app_->add_option_function<std::string>(name, std::move(take), help));
}

Option Verb::texts(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  return Option(app_->add_option(name, values, help));
}

Option Verb::integer(const std::string& name, int& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}

Option Verb::number(const std::string& name, std::uint64_t& value, const std::string& help) {
  return Option(app_->add_option(name, value, help)->check(whole_number()));
}

Option Verb::numbers(const std::string& name, std::vector<std::uint64_t>& values, const std::string& help) {
  return Option(app_->add_option(name, values, help)->check(whole_number()));
}

Option Verb::flag(const std::string& name, bool& value, const std::string& help) {
  return Option(app_->add_flag(name, value, help));
}

void Verb::runs(std::function<void()> work) { app_->callback(std::move(work)); }

CommandLine::CommandLine(const std::string& summary, const std::string& footer, std::function<std::string()> version)
    : app_(std::make_unique<CLI::App>(summary)) {
  app_->require_subcommand(1);
  app_->set_version_flag("--version", std::move(version),
                         "Print the version, the linear algebra library and the SIMD target");
  app_->footer(footer);
}

CommandLine::~CommandLine() = default;

Verb CommandLine::program() { return Verb(app_.get()); }

std::string CommandLine::chosen_verb() const {
  const auto chosen = app_->get_subcommands();
  return chosen.empty() ? "bdnn" : "bdnn " + chosen.front()->get_name();
}

void CommandLine::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      // Unknown arguments are reported first: a missing option may be one of them, misspelt.
      complain_about_the_unknown(*app_);
      throw UsageError(error.what());
    }
    app_->exit(error);  // prints the help or the version
  }
}

}  // namespace bdnn::cli
