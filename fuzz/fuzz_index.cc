// Whatever an index file holds, opening and searching it ends in an answer or in bdnn::Error. Each input is tried as it
// is and with the checksums of its superblocks and catalog mended, else no mutation would get beyond them.
#include <cstring>
#include <span>

#include "base/checksum.h"
#include "bdnn/error.h"
#include "bdnn/index.h"
#include "fuzz.h"

namespace {

void search(const bdnn::Index& index) {
  const std::size_t bytes = (index.bits() + 7) / 8;
  const bdnn::Codes queries(index.bits(), 2, std::vector<std::uint8_t>(2 * bytes));
  const bdnn::Filter filter(index, std::vector<std::uint64_t>{0, 2, 1000});
  bdnn::Searcher searcher(1);
  bdnn::Results results;
  const bdnn::Plan tables = index.bits() <= 16 ? bdnn::Plan::bucket : bdnn::Plan::mih;
  for (const bdnn::Plan plan : {bdnn::Plan::automatic, bdnn::Plan::scan, tables}) {
    for (const bdnn::SearchOptions& options :
         {bdnn::SearchOptions{.k = 3, .plan = plan}, bdnn::SearchOptions{.radius = 2, .plan = plan}}) {
      for (const bdnn::Filter* some : {static_cast<const bdnn::Filter*>(nullptr), &filter}) {
        searcher.explain(index, queries.size(), options, some);
        searcher.search(index, queries, options, results, some);
      }
      for (const auto& neighbour : results[0]) {
        if (index.info().names) index.name(neighbour.id);
      }
    }
  }
}

void open(const std::vector<std::uint8_t>& bytes) {
  static const bdnn::fuzz::ScratchFile file("x.index");
  file.put(bytes.data(), bytes.size());
  try {
    search(bdnn::Index::open(file.path()));
    bdnn::verify_index(file.path());
  } catch (const bdnn::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  open(bytes);
  // The superblocks' layout, as docs/formats.md gives it.
  constexpr std::size_t kSpace = 4096;
  constexpr std::size_t kCatalogOffset = 24;
  constexpr std::size_t kCatalogBytes = 32;
  constexpr std::size_t kCatalogChecksum = 40;
  constexpr std::size_t kChecksum = 56;
  for (std::size_t block = 0; block + kChecksum + 8 <= size && block <= kSpace; block += kSpace) {
    std::uint64_t offset = 0;
    std::uint64_t count = 0;
    std::memcpy(&offset, &bytes[block + kCatalogOffset], sizeof offset);
    std::memcpy(&count, &bytes[block + kCatalogBytes], sizeof count);
    if (offset > size || count > size - offset) continue;
    const auto all = std::as_bytes(std::span(bytes));
    const std::uint64_t catalog = bdnn::checksum(all.subspan(offset, count));
    std::memcpy(&bytes[block + kCatalogChecksum], &catalog, sizeof catalog);
    const std::uint64_t header = bdnn::checksum(all.subspan(block, kChecksum));
    std::memcpy(&bytes[block + kChecksum], &header, sizeof header);
  }
  open(bytes);
  return 0;
}
