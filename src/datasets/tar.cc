#include "datasets/tar.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace bdnn {
namespace {

constexpr std::size_t kBlock = 512;

// The next `left` bytes of an archive.
class Member final : public ByteStream {
 public:
  Member(ByteStream& archive, const std::string& name, std::uint64_t left)
      : ByteStream(name), archive_(archive), left_(left) {}

  std::size_t read_some(std::span<std::byte> out) override {
    const auto wanted = out.first(std::min<std::uint64_t>(out.size(), left_));
    archive_.read(wanted);
    left_ -= wanted.size();
    return wanted.size();
  }
  std::uint64_t left() const { return left_; }

 private:
  ByteStream& archive_;
  std::uint64_t left_;
};

class Header {
 public:
  bool read(ByteStream& archive) {
    const std::size_t n = archive.read_some(std::as_writable_bytes(std::span(bytes_)));
    if (n == 0) return false;
    if (n < kBlock) bytes_.fill('x');  // not a valid header
    return std::any_of(bytes_.begin(), bytes_.end(), [](char c) { return c != '\0'; });
  }

  // The checksum is of the header with blanks in its place.
  bool is_sound() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(bytes_[i]);
    }
    return octal(148, 8) == sum;
  }

  std::string name() const {
    const bool ustar = text(257, 5) == "ustar" && bytes_[262] == '\0';
    const std::string prefix = ustar ? text(345, 155) : "";
    return prefix.empty() ? text(0, 100) : prefix + "/" + text(0, 100);
  }

  bool is_file() const { return bytes_[156] == '0' || bytes_[156] == '\0'; }

  std::optional<std::uint64_t> size() const {
    if ((static_cast<unsigned char>(bytes_[124]) & 0x80) == 0) return octal(124, 12);
    std::uint64_t value = 0;  // GNU's form for sizes of 8 GB and more
    for (std::size_t i = 128; i < 136; ++i) value = value << 8 | static_cast<unsigned char>(bytes_[i]);
    return value >> 62 == 0 ? std::optional(value) : std::nullopt;
  }

 private:
  std::string text(std::size_t at, std::size_t length) const {
    const std::string_view field(bytes_.data() + at, length);
    return std::string(field.substr(0, field.find('\0')));
  }

  std::optional<std::uint64_t> octal(std::size_t at, std::size_t length) const {
    std::uint64_t value = 0;
    bool any = false;
    for (const char c : std::string_view(bytes_.data() + at, length)) {
      if (c == '\0' || c == ' ') {
        if (any) break;
        continue;
      }
      if (c < '0' || c > '7') return std::nullopt;
      value = value * 8 + static_cast<std::uint64_t>(c - '0');
      any = true;
    }
    return any ? std::optional(value) : std::nullopt;
  }

  std::array<char, kBlock> bytes_{};
};

}  // namespace

void read_tar(ByteStream& archive, const std::string& path,
              const std::function<bool(const std::string& name, ByteStream& content)>& take) {
  for (Header header; header.read(archive);) {
    const auto size = header.size();
    if (!header.is_sound() || !size) failure("{}: is damaged or not a tar archive", path);
    Member member(archive, path, *size);
    if (header.is_file() && !take(header.name(), member)) return;
    member.skip(member.left());
    archive.skip((kBlock - *size % kBlock) % kBlock);
  }
}

}  // namespace bdnn
