// Files from the network, by the program curl: it knows proxies, certificates, FTP and every odd server.
#pragma once

#include <cstdint>
#include <string>

#include "bdnn/datasets.h"

namespace bdnn {

// Downloads `bytes` bytes to the file `part`, and goes on after what is there of an earlier download. A transfer that
// breaks off is resumed at once as long as it gets on, and otherwise tried again a few times. Raises Error if it fails,
// and leaves what was transferred in `part`; CannotWrite if it cannot be written. Says whether bytes of an earlier
// download were used.
bool download(const std::string& url, const std::string& part, std::uint64_t bytes, Progress& progress,
              const Note& note);

}  // namespace bdnn
