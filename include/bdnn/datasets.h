// Public datasets: which ones exist, and how to get them by name.
//
//     for (const auto& file : bdnn::get_dataset("mnist", {.data = "data"}, progress)) std::cout << file.path << "\n";
//
// Files come from disk, package mirrors or their canonical addresses, and are put in place only if their checksum
// matches. docs/datasets.md describes catalogues.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bdnn/progress.h"

namespace bdnn {

struct DatasetFacts {
  std::string name;  // also the name of its folder
  std::string title;
  std::string about;    // one line
  std::string vectors;  // "60,000 + 10,000"
  std::size_t dimension = 0;
  std::vector<std::string> files;
};

// The datasets of a catalogue, in its order: a TOML file, or the built-in catalogue if `catalog` is empty.
std::vector<DatasetFacts> list_datasets(const std::string& catalog = {});

struct GetOptions {
  std::string data = "data";  // folder that contains the dataset's folder
  std::string from = {};      // folder to look in first for its files and archives; "": none
  bool replace = false;       // replace existing files that differ from the dataset's; otherwise they raise Error
};

struct GottenFile {
  std::string path;
  std::string source;  // "" if the file existed already
};

using Note = std::function<void(const std::string&)>;  // receives progress notes, one line each

// Gets the dataset with this name or alias. A failure leaves at most a partial download, NAME.part, which the next call
// resumes. Waits for another process that is getting the same dataset. If every source fails, raises Error with all
// reasons.
std::vector<GottenFile> get_dataset(const std::string& name, const GetOptions& options, Progress& progress,
                                    const Note& note = {}, const std::string& catalog = {});

}  // namespace bdnn
