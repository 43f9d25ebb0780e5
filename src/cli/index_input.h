// Index files as the verbs open them.
#pragma once

#include <string>

#include "bdnn/index.h"

namespace bdnn::cli {

// Index::open, with warnings of damage on standard error.
Index open_index(const std::string& path);

// Runs work(); an Error about a damaged index also names the command that salvages it.
template <class Work>
auto with_salvage_hint(const std::string& path, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const DamagedIndex& error) {
    throw Error(error.kind(), std::string(error.what()) + "; 'bdnn index compact --index " + path +
                                  " --salvage' keeps the intact codes and lists the lost ones");
  }
}

}  // namespace bdnn::cli
