// Tar archives, read from front to back.
#pragma once

#include <functional>
#include <string>

#include "data/byte_stream.h"

namespace bdnn {

// Calls take(name, content) for each regular file; unread content is skipped, and if it returns false, so is the rest
// of the archive. Names of more than 255 characters are cut. Raises Error with `path` if the archive is damaged.
void read_tar(ByteStream& archive, const std::string& path,
              const std::function<bool(const std::string& name, ByteStream& content)>& take);

}  // namespace bdnn
