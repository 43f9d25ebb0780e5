#include "search/index_file.h"

#include "base/error.h"
#include "search/catalog.h"

namespace bdnn {

IndexState write_index(const SectionWriter::WriteAt& write_at, const Entries& entries, const Catalog& catalog,
                       const IndexOptions& options) {
  SectionWriter writer(write_at, kFirstSection);
  IndexState state;
  state.catalog = catalog;
  state.catalog.tables = options.tables.value_or(catalog.tables);
  state.catalog.segments.clear();
  if (entries.codes.size() > 0) state.catalog.segments.push_back(write_segment(writer, entries, options));
  const std::string text = to_text(state.catalog);
  state.catalog_extent = writer.append(std::as_bytes(std::span(text)));
  state.end = writer.end();
  const SuperblockWrite block = superblock_for(state);
  write_at(block.offset, block.bytes);
  return state;
}

void write_index_file(const std::string& path, const Entries& entries, const Catalog& catalog,
                      const IndexOptions& options) {
  OutputFile file(path);
  if (!file.seekable()) misuse("{}: an index cannot be written to a pipe; name a file", path);
  write_index([&](std::uint64_t offset, std::span<const std::byte> bytes) { file.write_at(offset, bytes); }, entries,
              catalog, options);
  file.commit();
}

}  // namespace bdnn
