// Runs under ThreadSanitizer: images are read, described and written on several threads.
#include "bdnn/features.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "bdnn/vectors.h"
#include "data/png.h"
#include "expect_error.h"
#include "features/gist.h"
#include "features/image_source.h"
#include "features/opencv.h"
#include "peak_memory.h"
#include "temporary_directory.h"
#include "whole_file.h"

namespace bdnn {
namespace {

using testing::TemporaryDirectory;

std::string random_bytes(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

std::string idx(std::size_t count, std::size_t rows, std::size_t columns, const std::string& pixels) {
  std::string bytes = {0, 0, 8, 3};
  for (const std::size_t size : {count, rows, columns}) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(size >> shift));
  }
  return bytes + pixels;
}

Image image_of(std::size_t width, std::size_t height, std::size_t channels, const std::string& planes) {
  Image image{width, height, channels, {}};
  for (const char value : planes) image.planes.push_back(static_cast<float>(static_cast<unsigned char>(value)));
  return image;
}

constexpr std::size_t kPixels = 3 * 32 * 32;

// Two CIFAR-10 batches, of 400 and 3 images: more than one batch of work.
struct Cifar {
  std::string pixels = random_bytes(403 * kPixels, 1);
  explicit Cifar(const TemporaryDirectory& directory) {
    std::string file;
    for (std::size_t i = 0; i < 403; ++i) {
      file += static_cast<char>(i % 10) + pixels.substr(i * kPixels, kPixels);
      if (i == 399) testing::write_file(directory / "a.bin", std::exchange(file, ""));
    }
    testing::write_file(directory / "b.bin", file);
  }
};

const GistOptions kSmall{.orientations = {2, 1}, .blocks = 2, .border = 2};

TEST(Features, EveryImageGetsItsOwnWhateverTheThreads) {
  const TemporaryDirectory directory;
  const Cifar cifar(directory);
  Progress silent;
  GistOptions options = kSmall;
  for (const int threads : {1, 3}) {
    options.threads = threads;
    const auto result = gist_features({directory / "a.bin", directory / "b.bin"},
                                      directory / fmt::format("{}.fvecs", threads), options, silent);
    EXPECT_EQ(result.images, 403U);
    EXPECT_EQ(result.dimension, 12U);
    EXPECT_TRUE(result.names.empty());
  }
  EXPECT_EQ(testing::read_file(directory / "1.fvecs"), testing::read_file(directory / "3.fvecs"));
  const Vectors features = load_vectors(directory / "1.fvecs");
  const Gist gist(options, 32);
  Gist::Scratch scratch;
  for (const std::size_t i : {0U, 1U, 340U, 341U, 399U, 400U, 402U}) {  // batches have 341 images
    const auto grey = grey_plane(image_of(32, 32, 3, cifar.pixels.substr(i * kPixels, kPixels)));
    std::vector<float> right(12);
    gist.describe(grey.data(), scratch, right.data());
    EXPECT_EQ(std::memcmp(features.floats(i, 1, nullptr), right.data(), 12 * sizeof(float)), 0) << i;
  }
}

TEST(Features, OfAnImageAreTheSameFromEveryFile) {
  const TemporaryDirectory directory;
  const std::string pixels = random_bytes(2 * 20 * 24, 2);
  testing::write_file(directory / "images.idx3", idx(2, 20, 24, pixels));
  std::filesystem::create_directories(directory / "folder/sub");
  testing::write_file(directory / "folder/sub/z.PGM", "P5 # a comment\n24 20\n255\n" + pixels.substr(480));
  testing::write_file(directory / "folder/b.pgm", "P5\n24 20 255 " + pixels.substr(0, 480));
  testing::write_file(directory / "folder/readme.txt", "no image");
  Progress silent;
  GistOptions options = kSmall;
  gist_features({directory / "images.idx3"}, directory / "own.fvecs", options, silent);
  options.size = 20;
  gist_features({directory / "images.idx3"}, directory / "idx.fvecs", options, silent);
  const auto result = gist_features({directory / "folder"}, directory / "folder.fvecs", options, silent);
  EXPECT_EQ(result.names, (std::vector<std::string>{"b.pgm", "sub/z.PGM"}));
  const std::string right = testing::read_file(directory / "idx.fvecs");
  EXPECT_EQ(testing::read_file(directory / "own.fvecs"), right);
  EXPECT_EQ(testing::read_file(directory / "folder.fvecs"), right);
}

TEST(Features, MistakesSayWhatIsRight) {
  const TemporaryDirectory directory;
  const Cifar cifar(directory);
  testing::write_file(directory / "m.idx3", idx(1, 8, 8, random_bytes(64, 3)));
  testing::write_file(directory / "labels.idx1", std::string("\0\0\x08\x01\0\0\0\x02", 8) + "ab");
  std::filesystem::create_directories(directory / "empty");
  Progress silent;
  const auto gist = [&](const std::vector<std::string>& images) {
    gist_features(images, directory / "out.fvecs", kSmall, silent);
  };
  EXPECT_BDNN_ERROR(gist({}), misuse, "no images were given");
  EXPECT_BDNN_ERROR(gist({directory / "a.bin", directory / "m.idx3"}), misuse, "different sizes");
  EXPECT_BDNN_ERROR(gist({directory / "labels.idx1"}), misuse, "holds no images");
  testing::write_file(directory / "flat.idx3", idx(2, 0, 8, ""));
  EXPECT_BDNN_ERROR(gist({directory / "flat.idx3"}), failure, "holds no vectors (2 of dimension 0)");
  EXPECT_BDNN_ERROR(gist({directory / "empty"}), failure, "holds no image files");
  EXPECT_BDNN_ERROR(gist({directory / "none.bin"}), failure, "none.bin");
  testing::write_file(directory / "x.pgm", "P5 3 3 255 12345678");
  EXPECT_BDNN_ERROR(gist({directory / "x.pgm"}), failure, "is truncated");
  EXPECT_FALSE(std::filesystem::exists(directory / "out.fvecs"));
  if (!has_opencv()) {
    EXPECT_BDNN_ERROR(cnn_features({directory / "m.idx3"}, directory / "out.fvecs", {}, silent), misuse,
                      "built without");
  }
}

TEST(Pnm, DamageIsFound) {
  const auto decode = [](const std::string& file) { return decode_pnm(std::as_bytes(std::span(file)), "x.ppm"); };
  const Image image = decode(
      "P6 2 1 255\n"
      "abcdef");
  EXPECT_EQ(image.planes, (std::vector<float>{'a', 'd', 'b', 'e', 'c', 'f'}));
  EXPECT_EQ(decode(std::string("P5 2 1 5\n\0\5", 11)).planes, (std::vector<float>{0, 255}));
  for (const char* bad : {"P4 2 1 255\nab", "P5", "P5 ", "P5 2", "P5 2 1", "P5 2 1 255", "P5 2 1 255\na",
                          "P5 0 1 255\n", "P5 2 1 0\nab", "P5 2 1 65535\nabcd", "P5 99999999999999999999 1 255\na",
                          "P5 67108864 2 255\n", "P5 -2 1 255\nab", "P5 2 1 5\nab", "P5 # no end"}) {
    EXPECT_BDNN_ERROR(decode(bad), failure, "x.ppm: ");
  }
}

TEST(ResizedSquare, ByHand) {
  const std::vector<float> square = {0, 4, 8, 12};
  EXPECT_EQ(resized_square(square, 2, 2, 2), square);
  // 0 and 4 become 0, 1, 3, 4 along rows; columns likewise add 0, 2, 6, 8.
  EXPECT_EQ(resized_square(square, 2, 2, 4), (std::vector<float>{0, 1, 3, 4, 2, 3, 5, 6, 6, 7, 9, 10, 8, 9, 11, 12}));
  // Halved, a pixel is the mean of four with weights 1, 3, 3, 1, mirrored at the border.
  const std::vector<float> rows = {0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12};
  EXPECT_EQ(resized_square(rows, 4, 4, 2), (std::vector<float>{2.5F, 9.5F, 2.5F, 9.5F}));
  EXPECT_EQ(resized_square({1, 2, 3, 4}, 4, 1, 1), std::vector<float>{2});  // from the middle
}

TEST(ResizedSquare, MemoryDoesNotGrowWithThinPictures) {
  constexpr std::size_t kLength = std::size_t{1} << 20;
  std::vector<float> plane(kLength);
  for (std::size_t i = 0; i < kLength; ++i) plane[i] = static_cast<float>(i);
  std::vector<float> wide;
  std::vector<float> high;
  const std::size_t growth = testing::peak_growth([&] {
    wide = resized_square(plane, kLength, 1, 32);
    high = resized_square(plane, 1, kLength, 32);
  });
  EXPECT_LT(growth, std::size_t{32} << 20);
  EXPECT_NEAR(wide[16], static_cast<float>(kLength) / 2, 1);
  EXPECT_EQ(wide[1], high[32]);
}

TEST(Mirrored, RepeatsTheEdges) {
  std::vector<std::size_t> positions;
  for (std::ptrdiff_t i = -4; i < 8; ++i) positions.push_back(mirrored(i, 3));
  EXPECT_EQ(positions, (std::vector<std::size_t>{2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1}));
}

TEST(OpenCv, DecodesPng) {
  if (!has_opencv()) GTEST_SKIP() << "built without OpenCV";
  for (const std::size_t channels : {1U, 3U}) {
    const std::string planes = random_bytes(7 * 5 * channels, 5);
    const std::string png = encode_png(7, 5, channels, std::as_bytes(std::span(planes)));
    const Image image = decode_with_opencv(std::as_bytes(std::span(png)), "x.png");
    EXPECT_EQ(image.width, 7U);
    EXPECT_EQ(image.planes, image_of(7, 5, channels, planes).planes);
    EXPECT_BDNN_ERROR(decode_with_opencv(std::as_bytes(std::span(png).first(30)), "x.png"), failure, "x.png: ");
  }
}

}  // namespace
}  // namespace bdnn
