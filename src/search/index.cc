#include "bdnn/index.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/locked_file.h"
#include "search/index_file.h"

namespace bdnn {
namespace {

// Of a new index, but for its segments.
Catalog catalog_for(const Entries& entries) {
  Catalog catalog;
  catalog.bits = entries.codes.bits();
  catalog.names = !entries.names.empty();
  catalog.next_id = next_id_after(entries, 0);
  catalog.origin = entries.codes.origin();
  return catalog;
}

}  // namespace

Index Index::open(const std::string& path) {
  const InputFile file(path);
  return Index(map_content(file, read_state(file)));
}

Index Index::load(const std::string& path) {
  const InputFile file(path);
  return Index(load_content(file, read_state(file)));
}

Index Index::build(const Codes& codes, const IndexKeys& keys, const IndexOptions& options) {
  const Entries entries = entries_of(codes, keys, 0);
  const int fd = ::memfd_create("bdnn-index", MFD_CLOEXEC);
  if (fd < 0) failure("an index in memory: cannot allocate: {}", std::strerror(errno));
  const InputFile owner(fmt::format("/proc/self/fd/{}", fd));
  ::close(fd);
  LockedFile memory(fmt::format("/proc/self/fd/{}", owner.descriptor()));
  const IndexState state =
      write_index([&](std::uint64_t offset, std::span<const std::byte> bytes) { memory.write_at(offset, bytes); },
                  entries, catalog_for(entries), options);
  return Index(load_content(owner, state));
}

std::size_t Index::bits() const { return content().info.bits; }
std::size_t Index::size() const { return content().info.size; }
const IndexInfo& Index::info() const { return content().info; }

std::string_view Index::name(std::uint64_t id) const {
  const std::uint64_t segment = id >> 32;
  const std::uint64_t row = id & 0xffffffffU;
  const std::vector<Segment>& segments = content().segments;
  if (!info().names || segment >= segments.size() || row >= segments[segment].size()) {
    misuse("{} stands for no name in this index", id);
  }
  return segments[segment].keys.name(row);
}

void build_index(const std::string& path, const Codes& codes, const IndexKeys& keys, const IndexOptions& options) {
  const Entries entries = entries_of(codes, keys, 0);
  // Not in the middle of somebody else's change of the file that is replaced.
  std::optional<LockedFile> replaced;
  if (std::filesystem::is_regular_file(path)) replaced.emplace(path, options.waiting);
  write_index_file(path, entries, catalog_for(entries), options);
}

}  // namespace bdnn
