#include "codes/codes_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/checksum.h"
#include "base/files.h"
#include "base/random.h"
#include "expect_error.h"
#include "temporary_directory.h"
#include "whole_file.h"

namespace bdnn {
namespace {

using testing::TemporaryDirectory;

Codes random_codes(std::size_t bits, std::size_t count) {
  Random random(bits);
  const std::size_t bytes = (bits + 7) / 8;
  std::vector<std::uint8_t> data(bytes * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < bits; ++b) {
      data[i * bytes + b / 8] |= static_cast<std::uint8_t>(random.below(2) << b % 8);
    }
  }
  return {bits, count, std::move(data), {"0123456789abcdef", "itq"}};
}

void expect_equal(const Codes& a, const Codes& b) {
  ASSERT_EQ(a.bits(), b.bits());
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * a.bytes_per_code()), 0);
}

TEST(CodesFile, RoundTripsInEveryFormat) {
  const TemporaryDirectory directory;
  for (const std::size_t bits : {1, 7, 8, 9, 32, 64, 100, 4096}) {
    const Codes codes = random_codes(bits, 13);
    for (const std::string name : {"x.codes", "x.npy", "x.bvecs"}) {
      save_codes(codes, directory / name);
      expect_equal(load_codes(directory / name, bits), codes);
    }
    const Codes own = load_codes(directory / "x.codes");
    EXPECT_EQ(own.bits(), bits);
    EXPECT_EQ(own.origin().model, "0123456789abcdef");
    EXPECT_EQ(own.origin().method, "itq");
    const Codes mapped = map_codes(directory / "x.codes");
    expect_equal(mapped, codes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped.data()) % 64, 0U);
    EXPECT_EQ(load_codes(directory / "x.npy").bits(), (bits + 7) / 8 * 8);
  }
}

// Slow: thousands of damaged files are written and read.
TEST(CodesFile, EveryTruncationAndEveryFlippedBitIsFound) {
  const TemporaryDirectory directory;
  save_codes(random_codes(20, 9), directory / "x.codes");
  const std::string whole = read_whole_file(directory / "x.codes", 1 << 20);
  for (std::size_t length = 0; length < whole.size(); length += length < 200 || length > 4090 ? 1 : 97) {
    testing::write_file(directory / "y.codes", whole.substr(0, length));
    EXPECT_THROW(load_codes(directory / "y.codes"), Error) << length;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1 << at % 8);
    testing::write_file(directory / "y.codes", flipped);
    EXPECT_THROW(load_codes(directory / "y.codes"), Error) << at;
  }
}

TEST(CodesFile, MessagesSayWhatIsWrong) {
  const TemporaryDirectory directory;
  const Codes codes = random_codes(20, 9);
  save_codes(codes, directory / "x.codes");
  EXPECT_BDNN_ERROR(load_codes(directory / "x.codes", 24), failure, "holds codes of 20 bits, not 24");
  EXPECT_BDNN_ERROR(save_codes(codes, directory / "x.txt"), misuse, "end in .codes, .npy or .bvecs");
  std::string newer = read_whole_file(directory / "x.codes", 1 << 20);
  newer[8] = 2;
  testing::write_file(directory / "y.codes", newer);
  EXPECT_BDNN_ERROR(load_codes(directory / "y.codes"), failure, "is of .codes version 2, this program knows up to 1");
  testing::write_file(directory / "z.codes",
                      "no codes at all, but long enough to hold a header of sixty-four bytes......");
  EXPECT_BDNN_ERROR(load_codes(directory / "z.codes"), failure, "signature of a .codes file");
  save_codes(codes, directory / "x.npy");
  EXPECT_BDNN_ERROR(load_codes(directory / "x.npy", 33), failure, "has 3 bytes per code, 33 bits need 5");
  EXPECT_BDNN_ERROR(load_codes(directory / "x.npy", 17), failure, "has bits set beyond its length of 17");
  EXPECT_BDNN_ERROR(Codes(4097, 1, std::vector<std::uint8_t>(513)), misuse,
                    "codes of 4097 bits are not possible; they have 1 to 4096");
  EXPECT_BDNN_ERROR(Codes(8, 2, std::vector<std::uint8_t>(3)), misuse, "3 bytes were given for 2 codes of 8 bits");
}

TEST(Codes, BitsBeyondTheLengthAreRefusedEverywhere) {
  EXPECT_BDNN_ERROR(Codes(1, 1, std::vector<std::uint8_t>{0xff}), failure,
                    "code 0 has bits set beyond its length of 1");
  const auto byte = std::make_shared<std::uint8_t>(std::uint8_t{4});
  EXPECT_BDNN_ERROR(Codes(2, 1, std::shared_ptr<const std::uint8_t>(byte)), failure, "beyond its length of 2");
  const TemporaryDirectory directory;
  save_codes(random_codes(7, 3), directory / "x.codes");
  std::string file = read_whole_file(directory / "x.codes", 1 << 20);
  file.back() = '\xff';
  testing::write_file(directory / "x.codes", file);
  EXPECT_BDNN_ERROR(map_codes(directory / "x.codes"), failure, "x.codes: code 2 has bits set beyond its length of 7");
  const std::vector<std::uint8_t> long_code(8192);
  EXPECT_BDNN_ERROR(hamming_distance(long_code, long_code), misuse, "the most is 512");
}

TEST(CodesFile, AHeaderThatLiesWithARightChecksumIsRefused) {
  const TemporaryDirectory directory;
  save_codes(random_codes(32, 4), directory / "x.codes");
  const std::string whole = read_whole_file(directory / "x.codes", 1 << 20);
  const auto lie = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::string file = whole;
    std::memcpy(file.data() + at, &value, size);
    std::uint64_t metadata = 0;
    std::memcpy(&metadata, file.data() + 40, 8);
    metadata = std::min<std::uint64_t>(metadata, file.size() - 64);
    const std::string covered = file.substr(0, 56) + file.substr(64, metadata);
    const std::uint64_t sum = checksum(std::as_bytes(std::span(covered)));
    std::memcpy(file.data() + 56, &sum, 8);
    testing::write_file(directory / "y.codes", file);
    EXPECT_THROW(load_codes(directory / "y.codes"), Error) << at << " = " << value;
    EXPECT_THROW(map_codes(directory / "y.codes"), Error) << at << " = " << value;
  };
  lie(12, 0, 4);  // bits
  lie(12, 5000, 4);
  lie(16, 5, 8);  // count
  lie(16, UINT64_MAX, 8);
  lie(16, UINT64_MAX / 4 + 2, 8);  // count * 4 wraps around to 4
  lie(24, 0, 8);                   // payload offset
  lie(24, UINT64_MAX - 63, 8);
  lie(40, UINT64_MAX, 8);  // metadata length
}

}  // namespace
}  // namespace bdnn
