#include "datasets/catalog.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "base/nearest_name.h"
#include "base/toml.h"

namespace bdnn {

extern const char* const kBuiltinCatalog;  // builtin_catalog.cc

namespace {

constexpr std::uint64_t kLargestCatalog = 1 << 20;

std::string text_of(TomlTable& table, const char* key) {
  const auto value = table.text(key);
  if (!value || value->empty()) table.wrong(key, "a string");
  return *value;
}

// A name that stays within its folder.
std::string name_of_file(TomlTable& table) {
  const std::string name = text_of(table, "name");
  if (name.find('/') != std::string::npos || name.front() == '.') table.wrong("name", "the name of a file in a folder");
  return name;
}

std::string sha256_of(TomlTable& table) {
  const std::string digits = table.text("sha256").value_or("");
  if (!digits.empty() && (digits.size() != 64 || digits.find_first_not_of("0123456789abcdef") != std::string::npos)) {
    table.wrong("sha256", "64 hexadecimal digits in lower case");
  }
  return digits;
}

DatasetFile parse_file(TomlTable table) {
  DatasetFile file;
  file.name = name_of_file(table);
  file.bytes = table.count("bytes", 0);
  if (file.bytes == 0) table.wrong("bytes", "the size of the content");
  file.sha256 = sha256_of(table);
  table.refuse_unknown();
  return file;
}

DatasetSource parse_source(TomlTable table, std::size_t files) {
  DatasetSource source;
  const auto folder = table.text("folder");
  const auto npm = table.text("npm");
  const auto url = table.text("url");
  if (static_cast<int>(folder.has_value()) + static_cast<int>(npm.has_value()) + static_cast<int>(url.has_value()) != 1)
    table.wrong("url", "present, or 'npm' or 'folder', and only one of them");
  source.kind = folder ? DatasetSource::Kind::folder : npm ? DatasetSource::Kind::npm : DatasetSource::Kind::url;
  source.place = folder ? *folder : npm ? *npm : *url;
  if (folder) {
    source.package = table.text("package").value_or("");
    if (!source.place.starts_with('/')) table.wrong("folder", "a path from the root");
    table.refuse_unknown();
    return source;
  }
  source.members = table.text("members").value_or("");
  source.sha256 = sha256_of(table);
  source.cifar10_pngs = table.flag("cifar10_pngs").value_or(false);
  for (const std::size_t bytes : table.counts("bytes", {})) source.bytes.push_back(bytes);
  if (npm && (source.place.find('@', 1) == std::string::npos || source.place.front() == '-' || !source.is_archive())) {
    table.wrong("npm", "a package@version, with 'members'");
  }
  if (url && !source.place.starts_with("http://") && !source.place.starts_with("https://") &&
      !source.place.starts_with("ftp://")) {
    table.wrong("url", "an address that begins with https://, http:// or ftp://");
  }
  if (url && source.is_archive() == (source.place.find('*') != std::string::npos)) {
    table.wrong("url", "an archive, with 'members', or an address with a * for the name of each file");
  }
  if (source.bytes.size() != (source.is_archive() ? 1 : files)) {
    table.wrong("bytes", source.is_archive() ? "the size of the archive" : "a list with the size of each file");
  }
  table.refuse_unknown();
  return source;
}

DatasetEntry parse_entry(TomlTable table) {
  DatasetEntry entry;
  entry.name = name_of_file(table);
  entry.aliases = table.texts("aliases").value_or(std::vector<std::string>{});
  entry.title = text_of(table, "title");
  entry.about = text_of(table, "about");
  entry.vectors = text_of(table, "vectors");
  entry.dimension = table.count("dimension", 0);
  entry.licence = table.text("licence").value_or("");
  entry.cite = table.text("cite").value_or("");
  entry.homepage = table.text("homepage").value_or("");
  for (auto& file : table.tables("file")) entry.files.push_back(parse_file(std::move(file)));
  if (entry.files.empty()) table.wrong("file", "present, as [[dataset.file]]");
  for (auto& source : table.tables("source")) {
    entry.sources.push_back(parse_source(std::move(source), entry.files.size()));
  }
  table.refuse_unknown();
  return entry;
}

}  // namespace

std::uint64_t DatasetSource::transfer() const { return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}); }

std::string DatasetSource::archive_name() const {
  if (kind != Kind::npm) return file_name(place);
  std::string name = place.substr(place.front() == '@' ? 1 : 0);
  for (char& c : name) {
    if (c == '@' || c == '/') c = '-';
  }
  return name + ".tgz";
}

DatasetCatalog parse_datasets(const std::string& text, const std::string& name) {
  TomlTable table = TomlTable::parse(text, name);
  DatasetCatalog catalog;
  for (auto& entry : table.tables("dataset")) catalog.push_back(parse_entry(std::move(entry)));
  table.refuse_unknown();
  if (catalog.empty()) failure("{}: describes no dataset; add one as [[dataset]]", name);
  return catalog;
}

DatasetCatalog builtin_datasets() { return parse_datasets(kBuiltinCatalog, "the catalogue of datasets"); }

DatasetCatalog load_datasets(const std::string& path) {
  return parse_datasets(read_whole_file(path, kLargestCatalog), path);
}

DatasetCatalog datasets_of(const std::string& path) { return path.empty() ? builtin_datasets() : load_datasets(path); }

const DatasetEntry* find_entry(const DatasetCatalog& catalog, const std::string& name) {
  for (const auto& entry : catalog) {
    if (entry.name == name || std::find(entry.aliases.begin(), entry.aliases.end(), name) != entry.aliases.end()) {
      return &entry;
    }
  }
  return nullptr;
}

const DatasetEntry& entry_of(const DatasetCatalog& catalog, const std::string& name) {
  if (const DatasetEntry* entry = find_entry(catalog, name)) return *entry;
  std::vector<std::string> names;
  std::string list;
  for (const auto& entry : catalog) {
    names.push_back(entry.name);
    names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
    list += (list.empty() ? "" : ", ") + entry.name;
  }
  const std::string meant = nearest_name(name, names);
  misuse("unknown dataset '{}'; {}", name,
         meant.empty() ? "the datasets are " + list : "did you mean '" + meant + "'?");
}

std::string fill_in(const std::string& pattern, const std::string& name) {
  const auto star = pattern.find('*');
  return star == std::string::npos ? pattern : pattern.substr(0, star) + name + pattern.substr(star + 1);
}

}  // namespace bdnn
