// Files mapped into memory for reading.
//
// A mapping follows changes of its file: if the file is truncated in place, reading beyond its new end raises SIGBUS.
// Replacing a file by renaming another onto it, as OutputFile does, never disturbs its readers.
#pragma once

#include <cstdint>
#include <memory>

#include "base/files.h"

namespace bdnn {

// The first `bytes` of a file, mapped until the last owner is destroyed. Raises Error if the file is shorter.
std::shared_ptr<const void> map_file(const InputFile& file, std::uint64_t bytes);

// From here on, a read beyond the end of a mapped file that was truncated prints the name of the file, removes the
// temporary files of this process and ends it with status 1. SIGBUS from other memory is handled as before.
// For programs: a library must not take over signals.
void explain_files_cut_while_mapped();

}  // namespace bdnn
