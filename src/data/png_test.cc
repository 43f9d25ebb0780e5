#include "data/png.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "base/random.h"
#include "data/png_reader.h"
#include "expect_error.h"

namespace bdnn {
namespace {

std::size_t big_endian(std::string_view png, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(png[at + i]);
  return value;
}

// The content of the chunk of this type; every checksum on the way must be right.
std::string chunk(const std::string& png, const std::string& type) {
  for (std::size_t at = 8; at + 12 <= png.size();) {
    const std::size_t length = big_endian(png, at);
    const std::string named = png.substr(at + 4, 4 + length);
    EXPECT_EQ(big_endian(png, at + 8 + length),
              crc32(0, reinterpret_cast<const Bytef*>(named.data()), static_cast<uInt>(named.size())));
    if (named.starts_with(type)) return named.substr(4);
    at += 12 + length;
  }
  return "no such chunk";
}

TEST(EncodePng, HoldsThePixelsRowByRow) {
  std::vector<std::byte> planes;  // 3 x 2 pixels: red 0..5, green 10..15, blue 20..25
  for (const int first : {0, 10, 20}) {
    for (int i = 0; i < 6; ++i) planes.push_back(static_cast<std::byte>(first + i));
  }
  const std::string png = encode_png(3, 2, 3, planes);
  EXPECT_TRUE(png.starts_with("\x89PNG\r\n\x1a\n"));
  const std::string header = chunk(png, "IHDR");
  EXPECT_EQ(big_endian(header, 0), 3U);
  EXPECT_EQ(big_endian(header, 4), 2U);
  EXPECT_EQ(header.substr(8), std::string("\x08\x02\x00\x00\x00", 5));
  EXPECT_EQ(chunk(png, "IEND"), "");
  const std::string packed = chunk(png, "IDAT");
  std::string rows(2 * (1 + 3 * 3), '?');
  uLongf size = rows.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                       static_cast<uLong>(packed.size())),
            Z_OK);
  const std::string expected{0, 0, 10, 20, 1, 11, 21, 2, 12, 22, 0, 3, 13, 23, 4, 14, 24, 5, 15, 25};
  EXPECT_EQ(rows, expected);
  EXPECT_BDNN_ERROR(encode_png(3, 3, 3, planes), misuse, "18 bytes are not a picture of 3 x 3");
}

class Text final : public ByteStream {
 public:
  explicit Text(std::string text) : ByteStream("text"), text_(std::move(text)) {}
  std::size_t read_some(std::span<std::byte> out) override {
    const std::size_t n = std::min(out.size(), text_.size() - at_);
    std::memcpy(out.data(), text_.data() + at_, n);
    at_ += n;
    return n;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

TEST(PngReader, ReadsWhatEncodePngWrites) {
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    const std::size_t width = 1 + random.below(70);
    const std::size_t height = 1 + random.below(70);
    const std::size_t channels = random.below(2) == 0 ? 1 : 3;
    std::vector<std::byte> planes(width * height * channels);
    for (auto& byte : planes) byte = static_cast<std::byte>(random.below(256));
    Text png(encode_png(width, height, channels, planes));
    PngReader reader(png, "picture");
    ASSERT_EQ(reader.width(), width);
    ASSERT_EQ(reader.height(), height);
    ASSERT_EQ(reader.channels(), channels);
    for (std::size_t y = 0; y < height; ++y) {
      const auto row = reader.next_row();
      for (std::size_t x = 0; x < width; ++x) {
        for (std::size_t c = 0; c < channels; ++c) {
          ASSERT_EQ(row[x * channels + c], planes[(c * height + y) * width + x]);
        }
      }
    }
    EXPECT_BDNN_ERROR(reader.next_row(), failure, "has no more than");
  }
}

TEST(PngReader, NoticesTruncationsAndADamagedHeader) {
  const std::vector<std::byte> planes(20 * 20, std::byte{7});
  const std::string good = encode_png(20, 20, 1, planes);
  const auto read = [](const std::string& png) {
    Text text(png);
    PngReader reader(text, "picture");
    for (int y = 0; y < 20; ++y) reader.next_row();
  };
  read(good);
  const std::size_t data = good.find("IDAT");
  const std::size_t end = good.find("IEND") - 4;
  // The last bytes are checksums, which nothing reads once all pixels are there.
  for (std::size_t size = 0; size < end - 12; ++size) EXPECT_THROW(read(good.substr(0, size)), Error) << size;
  for (std::size_t i = 0; i < data; ++i) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_THROW(read(damaged), Error) << i;
  }
}

TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
  EXPECT_TRUE(is_base64("//79Zg=="));
  EXPECT_FALSE(is_base64("Zg\" onerror=\"alert(1)"));
}

}  // namespace
}  // namespace bdnn
