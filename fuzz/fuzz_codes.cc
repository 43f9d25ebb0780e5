// Whatever a .codes file holds, loading it ends in codes or in bdnn::Error. Each input is tried as it is and with its
// checksums mended, else no mutation would get beyond them.
#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "bdnn/codes.h"
#include "bdnn/error.h"
#include "fuzz.h"

namespace {

void load(const std::vector<std::uint8_t>& bytes) {
  static const bdnn::fuzz::ScratchFile file("x.codes");
  file.put(bytes.data(), bytes.size());
  try {
    bdnn::load_codes(file.path());
    const bdnn::Codes codes = bdnn::map_codes(file.path());
    if (codes.size() > 0) bdnn::hamming_distance(codes[0], codes[codes.size() - 1]);
  } catch (const bdnn::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  load(bytes);
  // The header's layout, as docs/formats.md gives it.
  constexpr std::size_t kHeader = 64;
  constexpr std::size_t kOffset = 24;
  constexpr std::size_t kPayloadChecksum = 32;
  constexpr std::size_t kHeaderChecksum = 56;
  if (size < kHeader) return 0;
  std::uint64_t offset = 0;
  std::memcpy(&offset, bytes.data() + kOffset, sizeof offset);
  offset = std::clamp<std::uint64_t>(offset, kHeader, size);
  const auto put = [&](std::size_t at, std::uint64_t value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  put(kPayloadChecksum, bdnn::checksum(std::as_bytes(std::span(bytes).subspan(offset))));
  bdnn::Checksum header;
  header.add(std::as_bytes(std::span(bytes).first(kHeaderChecksum)));
  header.add(std::as_bytes(std::span(bytes).subspan(kHeader, offset - kHeader)));
  put(kHeaderChecksum, header.value());
  load(bytes);
  return 0;
}
