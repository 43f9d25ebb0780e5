#include "bdnn/index.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/locked_file.h"
#include "cli/codes_input.h"
#include "cli/command.h"
#include "cli/csv_input.h"
#include "cli/index_input.h"
#include "cli/keys_input.h"
#include "cli/outputs.h"
#include "codes/origin.h"

namespace bdnn::cli {
namespace {

struct IndexArguments {
  std::string index;
  std::string data;
  std::string model;
  IndexOptions options;
  EncodeOptions encoding;
  std::vector<CodesOptions> codes_options;  // of build, add and upsert
  KeyArguments keys;
  CsvInput csv;
  std::vector<std::uint64_t> some_ids;
  std::vector<std::string> some_names;
  bool force = false;
  bool salvage = false;
  bool verify = false;
  bool json = false;
};

Codes codes_of(const IndexArguments& arguments) {
  for (const auto& options : arguments.codes_options) options.check(arguments.encoding, arguments.data);
  std::optional<Model> model;
  if (!arguments.model.empty()) model = load_model(arguments.model);
  EncodeOptions encoding = arguments.encoding;
  encoding.threads = arguments.options.threads;
  arguments.csv.check({arguments.data});
  return codes_from(arguments.csv.file(arguments.data), model, encoding);
}

IndexKeys keys_of(const IndexArguments& arguments) {
  return keys_from(arguments.keys, arguments.csv.file(arguments.data));
}

// The outcome of a verb, reported with the state of the index afterwards.
struct Outcome {
  std::string done;  // "5 added; now "
  Json json = Json::object();
};

Outcome outcome_of(const IndexChange& change) {
  Outcome outcome;
  const auto count = [&](const char* name, const char* words, std::size_t value) {
    outcome.json.add(name, value);
    if (value > 0) outcome.done += fmt::format("{}{} {}", outcome.done.empty() ? "" : ", ", with_commas(value), words);
  };
  count("added", "added", change.added);
  count("replaced", "replaced", change.replaced);
  count("removed_now", "removed", change.removed);
  count("missing", "not found", change.missing);
  outcome.done += outcome.done.empty() ? "now " : "; now ";
  for (const std::string& warning : change.warnings) say(fmt::format("bdnn index: warning: {}\n", printable(warning)));
  return outcome;
}

// "3 to 7, 9": consecutive ids as a range.
std::string ranges_of(std::vector<std::uint64_t> ids) {
  std::sort(ids.begin(), ids.end());
  std::string text;
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t last = i;
    while (last + 1 < ids.size() && ids[last + 1] == ids[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ids[i]);
    if (last > i) text += fmt::format(" to {}", ids[last]);
    i = last + 1;
  }
  return text;
}

Outcome outcome_of(const IndexSalvage& salvage) {
  Outcome outcome;
  outcome.json = {{"kept", salvage.kept},
                  {"lost", salvage.lost},
                  {"lost_ids", Json::array(salvage.lost_ids)},
                  {"lost_names", Json::array(salvage.lost_names)},
                  {"damage", Json::array(salvage.damage)}};
  outcome.done = fmt::format("{} kept, {} lost", with_commas(salvage.kept), with_commas(salvage.lost));
  for (const std::string& damage : salvage.damage) outcome.done += fmt::format("\n  damaged: {}", printable(damage));
  if (!salvage.lost_ids.empty()) outcome.done += "\n  lost ids: " + ranges_of(salvage.lost_ids);
  for (const std::string& name : salvage.lost_names) outcome.done += "\n  lost name: " + printable(name);
  const std::size_t nameless = salvage.lost - salvage.lost_ids.size() - salvage.lost_names.size();
  if (nameless > 0) outcome.done += fmt::format("\n  {} lost codes have unreadable keys", with_commas(nameless));
  outcome.done += "\n  now ";
  return outcome;
}

// Files that killed writers left beside the index, and whether a writer is active.
struct Surroundings {
  bool writer = false;
  std::vector<std::string> left;

  explicit Surroundings(const std::string& path) : writer(is_locked(InputFile(path))) {
    for (const TemporaryFile& file : temporary_files_of(path)) {
      if (!file.in_use) left.push_back(file.path);
    }
  }
};

void report(const IndexArguments& arguments, const Outcome& outcome, double seconds) {
  const IndexInfo info = open_index(arguments.index).info();
  const Surroundings around(arguments.index);
  if (arguments.json) {
    Json json = {{"index", arguments.index},
                 {"codes", info.size},
                 {"bits", info.bits},
                 {"keys", info.names ? "names" : "ids"},
                 {"removed", info.removed},
                 {"segments", info.segments},
                 {"tables", info.tables},
                 {"tables_choice", name_of(info.tables_choice)},
                 {"duplicates", info.duplicates},
                 {"bytes", info.bytes},
                 {"unused_bytes", info.unused},
                 {"method", info.origin.method},
                 {"model", info.origin.model},
                 {"kind", kind_of_codes(info.origin)},
                 {"warnings", Json::array(info.warnings)},
                 {"writer_at_work", around.writer},
                 {"left_behind", Json::array(around.left)},
                 {"seconds", seconds},
                 {"peak_memory_bytes", peak_memory()}};
    json.add("change", outcome.json);
    return print_json(json);
  }
  fmt::print("{}: {}{} codes of {} bits under {}, {} segments, {} tables, {} bytes", printable(arguments.index),
             outcome.done, with_commas(info.size), info.bits, info.names ? "names" : "ids", info.segments, info.tables,
             with_commas(info.bytes));
  if (info.unused > 0)
    fmt::print(" ({} unused, {} codes removed)", with_commas(info.unused), with_commas(info.removed));
  if (info.origin.refined) fmt::print("; {}", kind_of_codes(info.origin));
  fmt::print("; {:.0f}% have a duplicate; {:.3f} s, {} MB at most\n", 100 * info.duplicates, seconds,
             peak_memory() / 1'000'000);
  if (around.writer) fmt::print("  another process is writing to it now; its lock ends with that process\n");
  for (const std::string& path : around.left) {
    fmt::print("  left behind by a killed writer, and safe to delete: {}\n", printable(path));
  }
}

void add_index_option(Verb verb, IndexArguments& arguments) {
  verb.text("--index", arguments.index, "Index file").required();
  add_json_option(verb, arguments.json);
}

void add_source_options(Verb verb, IndexArguments& arguments) {
  verb.text("--data", arguments.data, "Codes, or vectors to encode").required();
  verb.text("--model", arguments.model, "Model that encodes the vectors");
  arguments.codes_options.push_back(add_codes_options(verb, arguments.encoding));
  add_key_options(verb, arguments.keys, "these codes");
  arguments.csv.add_options(verb);
}

std::string said_of_tables(IndexOptions::Tables tables) {
  return tables == IndexOptions::Tables::automatic ? " (if they are expected to speed up searches)" : "";
}

void add_tables_option(Verb verb, IndexArguments& arguments, const std::string& otherwise) {
  verb.text(
          "--tables", [&arguments](const std::string& name) { arguments.options.tables = tables_by_name(name); },
          "Build hash tables: " + alternatives(kAllTables, said_of_tables) + "\n(default: " + otherwise + ")")
      .one_of(names_of(kAllTables));
  add_threads_option(verb, arguments.options.threads);
}

Outcome build(const IndexArguments& a) {
  check_outputs({{"--index", a.index}},
                {{"--data", a.data}, {"--model", a.model}, {"--ids", a.keys.ids_file}, {"--names", a.keys.names_file}});
  if (!a.force && std::filesystem::is_regular_file(a.index)) {
    misuse("{} exists; add to it with 'bdnn index add', or give --force to replace it", a.index);
  }
  build_index(a.index, codes_of(a), keys_of(a), a.options);
  return {"built: "};
}

Outcome remove(const IndexArguments& a) {
  IndexKeys keys = keys_from(a.keys);
  keys.ids.insert(keys.ids.end(), a.some_ids.begin(), a.some_ids.end());
  keys.names.insert(keys.names.end(), a.some_names.begin(), a.some_names.end());
  const bool file_given = !a.keys.ids_file.empty() || !a.keys.names_file.empty();  // an empty one names nothing
  if (keys.ids.empty() && keys.names.empty() && !file_given) {
    misuse("nothing to remove; give --id, --name, --ids or --names");
  }
  return outcome_of(remove_from_index(a.index, keys, a.options));
}

Outcome compact(const IndexArguments& a) {
  if (a.salvage) return outcome_of(salvage_index(a.index, a.options));
  compact_index(a.index, a.options);
  return {"now "};
}

}  // namespace

void add_index(Verb program) {
  const auto arguments = std::make_shared<IndexArguments>();
  Verb index =
      add_verb(program, "index", "Build and change an index: a file of codes that opens instantly",
               "  bdnn index build --index db.index --data base.codes\n"
               "  bdnn index build --index db.index --model m.bdnn --data base.fvecs --names names.txt\n"
               "  bdnn index build --index db.index --model m.bdnn --data base.csv --id-column name\n"
               "  bdnn index add --index db.index --data more.codes --ids more_ids.npy\n"
               "  bdnn index upsert --index db.index --data today.codes --ids today_ids.npy\n"
               "  bdnn index remove --index db.index --id 17 --id 21\n"
               "  bdnn index remove --index db.index --names gone.txt --ignore-missing\n"
               "  bdnn index compact --index db.index\n"
               "  bdnn index info --index db.index --verify\n"
               "  bdnn search --index db.index --queries q.codes -k 10\n\n"
               "Changes are atomic, and durable when the command returns. Exit status 0 means that the change was\n"
               "made, perhaps with a warning; any other that it was not, unless the message says otherwise.");
  index.requires_verb();
  const auto verb = [&](const std::string& name, const std::string& summary, auto work) {
    Verb sub = index.add_verb(name, summary);
    add_index_option(sub, *arguments);
    sub.runs([arguments, work] {
      const Stopwatch watch;
      arguments->options.waiting = [&] {
        say(fmt::format("bdnn index: waiting for another writer of {}\n", printable(arguments->index)));
      };
      const Outcome outcome =
          with_salvage_hint(arguments->index, [&] { return with_column_hint([&] { return work(*arguments); }); });
      if (!outcome.done.empty()) output_stands_now();
      report(*arguments, outcome, watch.seconds());
    });
    return sub;
  };
  Verb build_verb = verb("build", "Build an index of codes", build);
  add_source_options(build_verb, *arguments);
  add_tables_option(build_verb, *arguments, "automatic");
  build_verb.flag("--force", arguments->force, "Replace an existing file");
  Verb add = verb(
      "add", "Add codes; without --ids or --names, ids continue from the last one",
      [](const IndexArguments& a) { return outcome_of(add_to_index(a.index, codes_of(a), keys_of(a), a.options)); });
  add_source_options(add, *arguments);
  add_tables_option(add, *arguments, "as the index was built");
  Verb upsert = verb("upsert", "Add codes, and replace those whose keys already exist", [](const IndexArguments& a) {
    const IndexKeys keys = keys_of(a);
    if (keys.ids.empty() && keys.names.empty() && a.keys.ids_file.empty() && a.keys.names_file.empty()) {
      misuse("give the keys of the codes: --ids or --names, or --id-column of a CSV file");
    }
    return outcome_of(upsert_in_index(a.index, codes_of(a), keys, a.options));
  });
  add_source_options(upsert, *arguments);
  add_tables_option(upsert, *arguments, "as the index was built");
  Verb remove_verb = verb("remove", "Remove codes by their keys", remove);
  add_key_options(remove_verb, arguments->keys, "the codes to remove");
  remove_verb.numbers("--id", arguments->some_ids, "Id to remove; may be repeated");
  remove_verb.texts("--name", arguments->some_names, "Name to remove; may be repeated");
  remove_verb.flag("--ignore-missing", arguments->options.ignore_missing, "Ignore keys that are not in the index");
  Verb compact_verb = verb("compact", "Reclaim the space of removed codes and merge all segments", compact);
  add_tables_option(compact_verb, *arguments, "as the index was built");
  compact_verb.flag("--salvage", arguments->salvage, "Recover a damaged index: keep intact codes and list lost ones");
  Verb info = verb("info", "Show what an index holds, and files left by killed writers", [](const IndexArguments& a) {
    if (a.verify) verify_index(a.index);
    return Outcome();
  });
  info.flag("--verify", arguments->verify, "Read the whole file and verify all checksums");
}

}  // namespace bdnn::cli
