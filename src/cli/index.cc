#include "bdnn/index.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/codes_input.h"
#include "cli/command.h"
#include "cli/csv_input.h"
#include "cli/keys_input.h"
#include "codes/origin.h"

namespace bdnn::cli {
namespace {

struct Arguments {
  std::string index;
  std::string data;
  std::string model;
  std::string tables = "automatic";
  EncodeOptions encoding;
  std::vector<CodesOptions> codes_options;  // of build and of add
  KeyArguments keys;
  CsvInput csv;
  std::vector<std::uint64_t> some_ids;
  std::vector<std::string> some_names;
  bool verify = false;
  bool json = false;
  int threads = 0;
};

IndexOptions options_of(const Arguments& arguments) {
  IndexOptions options;
  options.threads = arguments.threads;
  options.tables = arguments.tables == "always"  ? IndexOptions::Tables::always
                   : arguments.tables == "never" ? IndexOptions::Tables::never
                                                 : IndexOptions::Tables::automatic;
  return options;
}

Codes codes_of(const Arguments& arguments) {
  for (const auto& options : arguments.codes_options) options.check(arguments.encoding, arguments.data);
  std::optional<Model> model;
  if (!arguments.model.empty()) model = load_model(arguments.model);
  EncodeOptions encoding = arguments.encoding;
  encoding.threads = arguments.threads;
  arguments.csv.check({arguments.data});
  return codes_from(arguments.csv.file(arguments.data), model, encoding);
}

IndexKeys keys_of(const Arguments& arguments) { return keys_from(arguments.keys, arguments.csv.file(arguments.data)); }

// The state of an index, after a change of it.
void report(const Arguments& arguments, const std::string& done, double seconds) {
  const IndexInfo info = Index::open(arguments.index).info();
  if (arguments.json) {
    print_json({{"index", arguments.index},
                {"codes", info.size},
                {"bits", info.bits},
                {"keys", info.names ? "names" : "ids"},
                {"removed", info.removed},
                {"segments", info.segments},
                {"tables", info.tables},
                {"duplicates", info.duplicates},
                {"bytes", info.bytes},
                {"unused_bytes", info.unused},
                {"method", info.origin.method},
                {"model", info.origin.model},
                {"kind", kind_of_codes(info.origin)},
                {"seconds", seconds},
                {"peak_memory_bytes", peak_memory()}});
    return;
  }
  fmt::print("{}: {}{} codes of {} bits under {}, {} segments, {} tables, {} bytes", printable(arguments.index), done,
             with_commas(info.size), info.bits, info.names ? "names" : "ids", info.segments, info.tables,
             with_commas(info.bytes));
  if (info.unused > 0)
    fmt::print(" ({} unused, {} codes removed)", with_commas(info.unused), with_commas(info.removed));
  if (info.origin.refined) fmt::print("; {}", kind_of_codes(info.origin));
  fmt::print("; {:.0f}% have an equal; {:.3f} s, {} MB at most\n", 100 * info.duplicates, seconds,
             peak_memory() / 1'000'000);
}

void add_index_option(Verb verb, Arguments& arguments) {
  verb.text("--index", arguments.index, "Index file").required();
  add_json_option(verb, arguments.json);
}

void add_source_options(Verb verb, Arguments& arguments) {
  verb.text("--data", arguments.data, "Codes, or vectors to encode").required();
  verb.text("--model", arguments.model, "Model that encodes the vectors");
  arguments.codes_options.push_back(add_codes_options(verb, arguments.encoding));
  add_key_options(verb, arguments.keys, "these codes");
  arguments.csv.add_options(verb);
}

void add_build_options(Verb verb, Arguments& arguments) {
  verb.text("--tables", arguments.tables,
            "Build hash tables: automatic (if they are expected to speed up searches), always or never")
      .one_of({"automatic", "always", "never"})
      .shows_default();
  add_threads_option(verb, arguments.threads);
}

void remove_verb(const Arguments& arguments) {
  IndexKeys keys = keys_from(arguments.keys);
  keys.ids.insert(keys.ids.end(), arguments.some_ids.begin(), arguments.some_ids.end());
  keys.names.insert(keys.names.end(), arguments.some_names.begin(), arguments.some_names.end());
  if (keys.ids.empty() && keys.names.empty())
    misuse("nothing to remove was named; give --id, --name, --ids or --names");
  remove_from_index(arguments.index, keys);
}

}  // namespace

void add_index(Verb program) {
  const auto arguments = std::make_shared<Arguments>();
  Verb index = add_verb(program, "index", "Build and change an index: a file of codes that opens instantly",
                        "  bdnn index build --index db.index --data base.codes\n"
                        "  bdnn index build --index db.index --model m.bdnn --data base.fvecs --names names.txt\n"
                        "  bdnn index build --index db.index --model m.bdnn --data base.csv --id-column name\n"
                        "  bdnn index add --index db.index --data more.codes --ids more_ids.npy\n"
                        "  bdnn index remove --index db.index --id 17 --id 21\n"
                        "  bdnn index compact --index db.index\n"
                        "  bdnn index info --index db.index --verify\n"
                        "  bdnn search --index db.index --queries q.codes -k 10\n\n"
                        "Changes are atomic, and durable when the command returns.");
  index.requires_verb();
  const auto verb = [&](const std::string& name, const std::string& summary, const std::string& done, auto work) {
    Verb sub = index.add_verb(name, summary);
    add_index_option(sub, *arguments);
    sub.runs([arguments, done, work] {
      const Stopwatch watch;
      with_column_hint([&] { work(*arguments); });
      report(*arguments, done, watch.seconds());
    });
    return sub;
  };
  Verb build = verb("build", "Build an index of codes", "built: ", [](const Arguments& a) {
    build_index(a.index, codes_of(a), keys_of(a), options_of(a));
  });
  add_source_options(build, *arguments);
  add_build_options(build, *arguments);
  Verb add = verb("add", "Add codes; without --ids or --names, ids continue from the last one", "now ",
                  [](const Arguments& a) { add_to_index(a.index, codes_of(a), keys_of(a), options_of(a)); });
  add_source_options(add, *arguments);
  add_build_options(add, *arguments);
  Verb remove = verb("remove", "Remove codes by their keys", "now ", remove_verb);
  add_key_options(remove, arguments->keys, "the codes to remove");
  remove.numbers("--id", arguments->some_ids, "Id to remove; may be repeated");
  remove.texts("--name", arguments->some_names, "Name to remove; may be repeated");
  Verb compact = verb("compact", "Reclaim the space of removed codes and merge all segments", "now ",
                      [](const Arguments& a) { compact_index(a.index, options_of(a)); });
  add_build_options(compact, *arguments);
  Verb info = verb("info", "Show what an index holds", "", [](const Arguments& a) {
    if (a.verify) verify_index(a.index);
  });
  info.flag("--verify", arguments->verify, "Read the whole file and verify all checksums");
}

}  // namespace bdnn::cli
