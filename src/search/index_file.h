// Whole index files written at once.
#pragma once

#include <string>

#include "search/segment_writer.h"

namespace bdnn {

// Writes an index of one segment from byte 0 on, with bits, origin and keys as in `catalog`; the state that was
// written. The choice of hash tables in the options, if there is one, becomes that of the index.
IndexState write_index(const SectionWriter::WriteAt& write_at, const Entries& entries, const Catalog& catalog,
                       const IndexOptions& options);

// The same to a file, which takes the place of an existing one when all is written.
void write_index_file(const std::string& path, const Entries& entries, const Catalog& catalog,
                      const IndexOptions& options);

}  // namespace bdnn
