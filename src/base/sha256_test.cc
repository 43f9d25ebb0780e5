#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string_view>

#include "base/random.h"

namespace bdnn {
namespace {

std::string sha256_of(std::string_view text) {
  Sha256 sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.hexadecimal();
}

TEST(Sha256, EqualsThePublishedExamples) {  // NIST's, for FIPS 180-4
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesArrive) {
  Random random(1);
  for (std::size_t length = 0; length < 300; ++length) {
    std::string text(length, '\0');
    for (char& c : text) c = static_cast<char>(random.below(256));
    Sha256 sum;
    for (std::size_t at = 0; at < length;) {
      const std::size_t n = std::min(length - at, static_cast<std::size_t>(random.below(100)));
      sum.add(std::as_bytes(std::span(text).subspan(at, n)));
      at += n;
    }
    EXPECT_EQ(sum.hexadecimal(), sha256_of(text)) << length;
    EXPECT_EQ(sum.hexadecimal(), sha256_of(text)) << "asked twice";
  }
}

}  // namespace
}  // namespace bdnn
