// Files mapped into memory for reading.
//
// A mapped file shows what is done to it: one that is cut short in place ends whoever reads beyond its new end with
// SIGBUS. Replacing a file by renaming another onto it, as OutputFile does, never disturbs its readers.
#pragma once

#include <cstdint>
#include <memory>

#include "base/files.h"

namespace bdnn {

// The first `bytes` of a file, mapped until the last owner goes. Raises Error if the file is shorter.
std::shared_ptr<const void> map_file(const InputFile& file, std::uint64_t bytes);

// From here on, a read beyond the end of a file that was cut short while it was mapped says which file, removes the
// temporary files of this process and ends it with status 1. A signal of other memory is handled as it was before.
// For programs: a library must not take signals over.
void explain_files_cut_while_mapped();

}  // namespace bdnn
