#include "codes/codes_file.h"

#include <array>
#include <cstring>

#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/sizes.h"
#include "codes/origin.h"
#include "data/format.h"

namespace bdnn {
namespace {

constexpr std::array<char, 8> kMagic = {'B', 'D', 'N', 'N', 'C', 'O', 'D', 'E'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMaxMetadata = 1 << 20;

// The first 64 bytes of a .codes file; docs/formats.md describes them.
struct RawHeader {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t bits = 0;
  std::uint64_t count = 0;
  std::uint64_t payload_offset = 0;
  std::uint64_t payload_checksum = 0;
  std::uint64_t metadata_bytes = 0;
  std::uint64_t reserved = 0;
  std::uint64_t header_checksum = 0;  // of everything before it, and of the metadata
};
static_assert(sizeof(RawHeader) == 64);

std::uint64_t checksum_of(const RawHeader& header, std::string_view metadata) {
  Checksum sum;
  sum.add(std::as_bytes(std::span(&header, 1)).first(offsetof(RawHeader, header_checksum)));
  sum.add(std::as_bytes(std::span(metadata)));
  return sum.value();
}

class OwnWriter final : public CodesWriter {
 public:
  OwnWriter(const std::string& path, std::size_t bits, std::size_t count, const CodesOrigin& origin) : file_(path) {
    if (!file_.seekable()) misuse("{}: .codes cannot be written to a pipe; name a file, or write .npy", path);
    metadata_ = Json(json_members(origin)).text();
    // Blanks after the JSON align the codes to a page, under the header's checksum too.
    metadata_.resize((sizeof header_ + metadata_.size() + kPage - 1) / kPage * kPage - sizeof header_, ' ');
    header_.bits = static_cast<std::uint32_t>(bits);
    header_.count = count;
    header_.metadata_bytes = metadata_.size();
    header_.payload_offset = sizeof header_ + metadata_.size();
    // The header is written last, when the checksum is known.
    file_.write(std::string(header_.payload_offset, '\0'));
  }

  void write(std::size_t count, const std::uint8_t* codes) override {
    const auto bytes = std::as_bytes(std::span(codes, count * bytes_for_bits(header_.bits)));
    payload_.add(bytes);
    file_.write(bytes);
  }

  void finish() override {
    header_.payload_checksum = payload_.value();
    header_.header_checksum = checksum_of(header_, metadata_);
    file_.write_at(0, std::as_bytes(std::span(&header_, 1)));
    file_.write_at(sizeof header_, std::as_bytes(std::span(metadata_)));
    file_.commit();
  }

 private:
  OutputFile file_;
  RawHeader header_;
  std::string metadata_;
  Checksum payload_;
};

// .npy and .bvecs: a code is a vector of bytes.
class ExchangeWriter final : public CodesWriter {
 public:
  explicit ExchangeWriter(std::unique_ptr<VectorWriter> writer) : writer_(std::move(writer)) {}
  void write(std::size_t count, const std::uint8_t* codes) override {
    writer_->write(count, reinterpret_cast<const std::byte*>(codes));
  }
  void finish() override { writer_->finish(); }

 private:
  std::unique_ptr<VectorWriter> writer_;
};

CodesHeader parse_header(const InputFile& file) {
  RawHeader raw;
  if (file.size() < sizeof raw) failure("{}: is truncated: {} bytes hold no .codes header", file.path(), file.size());
  file.read_at(0, std::as_writable_bytes(std::span(&raw, 1)));
  if (raw.magic != kMagic) failure("{}: does not start with the signature of a .codes file", file.path());
  if (raw.version < 1 || raw.version > kVersion) {
    failure("{}: is of .codes version {}, this program knows up to {}; use a newer bdnn", file.path(), raw.version,
            kVersion);
  }
  if (raw.metadata_bytes > kMaxMetadata || raw.metadata_bytes > file.size() - sizeof raw) {
    failure("{}: is damaged: its header states {} bytes of metadata", file.path(), raw.metadata_bytes);
  }
  std::string metadata(raw.metadata_bytes, '\0');
  file.read_at(sizeof raw, std::as_writable_bytes(std::span(metadata)));
  if (checksum_of(raw, metadata) != raw.header_checksum) {
    failure("{}: is damaged: the checksum of its header does not match", file.path());
  }
  // From here on the header is as written; a hostile program may still have lied.
  std::uint64_t payload = raw.count;
  if (raw.bits < 1 || raw.bits > kMaxBits || raw.payload_offset != sizeof raw + raw.metadata_bytes ||
      raw.payload_offset % 64 != 0 || !multiply_checked(payload, bytes_for_bits(raw.bits))) {
    failure("{}: is damaged: {} codes of {} bits at byte {} are impossible", file.path(), raw.count, raw.bits,
            raw.payload_offset);
  }
  if (raw.payload_offset > file.size() || file.size() - raw.payload_offset != payload) {
    failure("{}: is truncated or damaged: {} codes of {} bits need {} bytes, the file has {}", file.path(), raw.count,
            raw.bits, raw.payload_offset + payload, file.size());
  }
  CodesHeader header{raw.bits, raw.count, raw.payload_offset, raw.payload_checksum, {}};
  try {
    const JsonValue json = JsonValue::parse(metadata);
    if (json.as_object() == nullptr) failure("is not a JSON object");
    header.origin = origin_from(json);
  } catch (const Error& error) {
    failure("{}: is damaged: its metadata {}", file.path(), error.what());
  }
  return header;
}

Codes load_exchange(const std::string& path, std::size_t bits) {
  const Vectors rows = load_vectors(path);
  if (rows.shape().element != Element::u8) {
    failure("{}: holds {} values; codes are bytes (u8)", path, name_of(rows.shape().element));
  }
  if (bits == 0) bits = 8 * rows.dimension();
  if (bytes_for_bits(bits) != rows.dimension()) {
    failure("{}: has {} bytes per code, {} bits need {}", path, rows.dimension(), bits, bytes_for_bits(bits));
  }
  // The bytes are not copied; the lambda keeps their owner.
  const std::shared_ptr<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(rows.data()),
                                                  [rows](const std::uint8_t*) {});
  return with_name(path, [&] { return Codes(bits, rows.size(), bytes); });
}

}  // namespace

std::unique_ptr<CodesWriter> create_codes(const std::string& path, std::size_t bits, std::size_t count,
                                          const CodesOrigin& origin) {
  if (bits == 0) misuse("{}: codes of 0 bits cannot be written", path);
  if (path.ends_with(".codes")) return std::make_unique<OwnWriter>(path, bits, count, origin);
  const Shape shape{bytes_for_bits(bits), count, Element::u8};
  if (path.ends_with(".npy") || path.ends_with(".bvecs")) {
    return std::make_unique<ExchangeWriter>(format_for_writing(path).create({path, shape, ""}));
  }
  misuse("{}: codes are written to files whose names end in .codes, .npy or .bvecs", path);
}

bool is_codes_file(const std::string& path) {
  if (!split_source_name(path).part.empty()) return false;
  const InputFile file(path);
  std::array<char, 8> magic{};
  file.read_some_at(0, std::as_writable_bytes(std::span(magic)));
  return magic == kMagic;
}

CodesHeader read_codes_header(const std::string& path) { return parse_header(InputFile(path)); }

Codes map_codes(const std::string& path) {
  const InputFile file(path);
  const CodesHeader header = parse_header(file);
  const auto mapping = map_file(file, file.size());
  const std::shared_ptr<const std::uint8_t> codes(
      mapping, static_cast<const std::uint8_t*>(mapping.get()) + header.payload_offset);
  return with_name(path, [&] { return Codes(header.bits, header.count, codes, header.origin); });
}

Codes load_codes(const std::string& path, std::size_t bits) {
  if (!is_codes_file(path)) {
    if (path.ends_with(".codes")) read_codes_header(path);  // raises Error that says what is wrong
    return load_exchange(path, bits);
  }
  const InputFile file(path);
  const CodesHeader header = parse_header(file);
  if (bits != 0 && bits != header.bits) failure("{}: holds codes of {} bits, not {}", path, header.bits, bits);
  std::vector<std::uint8_t> bytes(header.count * bytes_for_bits(header.bits));
  file.read_at(header.payload_offset, std::as_writable_bytes(std::span(bytes)));
  if (checksum(std::as_bytes(std::span(bytes))) != header.payload_checksum) {
    failure("{}: is damaged: the checksum of its codes does not match", path);
  }
  return with_name(path, [&] { return Codes(header.bits, header.count, std::move(bytes), header.origin); });
}

void save_codes(const Codes& codes, const std::string& path) {
  const auto writer = create_codes(path, codes.bits(), codes.size(), codes.origin());
  writer->write(codes.size(), codes.data());
  writer->finish();
}

}  // namespace bdnn
