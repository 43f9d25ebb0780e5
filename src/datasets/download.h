// Downloads files with the program curl, which handles proxies, certificates, FTP and unusual servers.
#pragma once

#include <cstdint>
#include <string>

#include "bdnn/datasets.h"

namespace bdnn {

// Downloads `bytes` bytes to the file `part`, continuing an earlier download. A broken transfer is resumed at once as
// long as it makes progress, and otherwise retried a few times. Raises Error if it fails, and leaves the transferred
// bytes in `part`; CannotWrite if it cannot be written. Returns whether bytes of an earlier download were used.
bool download(const std::string& url, const std::string& part, std::uint64_t bytes, Progress& progress,
              const Note& note);

}  // namespace bdnn
