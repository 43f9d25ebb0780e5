#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>

#include "data/format_testing.h"

namespace bdnn::format_testing {
namespace {

class Csv : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::string path_ = directory_ / "a.csv";

  template <class T>
  std::vector<T> read_as(Element element, std::size_t count, std::size_t dimension) {
    const auto reader = open_vectors(path_);
    EXPECT_EQ(reader->shape().element, element);
    EXPECT_EQ(reader->shape().count, count);
    EXPECT_EQ(reader->shape().dimension, dimension);
    return values_of_bytes<T>(read_vectors(*reader, 1));
  }
  std::string error(std::string_view text) {
    spill(path_, text);
    return open_error(path_);
  }
};

using Integers = std::vector<std::int64_t>;
using Floats = std::vector<float>;

TEST_F(Csv, ReadsEverySeparator) {
  const Integers expected = {1, -2, 3, 4, 5, 6};
  for (const char* text :
       {"1,-2,3\n4,5,6\n", "1\t-2\t3\n4\t5\t6\n", "1;-2;3\n4;5;6", "1 -2  3\n 4 5 6 \n", "1, -2 ,3\r\n4,+5,6\r\n",
        "1,-2,3\n4,5,6\n\n  \n\r\n", "# from somewhere\n#\n\n1,-2,3\n4,5,6\n",
        "\xef\xbb\xbf"
        "1,-2,3\n4,5,6\n",
        "\xef\xbb\xbf# note\nx,y,z\n1,-2,3\n4,5,6\n", "a b c\n1 -2 3\n4 5 6\n", "\"x, or\",y,z,w\n1,-2,3\n4,5,6\n"}) {
    SCOPED_TRACE(text);
    spill(path_, text);
    EXPECT_EQ(read_as<std::int64_t>(Element::i64, 2, 3), expected);
  }
}

TEST_F(Csv, ReadsFloatsWhereNotAllAreIntegers) {
  spill(path_, "1,2\n3,4.5\n-1e-3,+7\n");
  EXPECT_EQ(read_as<float>(Element::f32, 3, 2), (Floats{1, 2, 3, 4.5, -1e-3F, 7}));
  spill(path_, "1,18446744073709551616\n");  // one more than 64 bits hold
  EXPECT_EQ(read_as<float>(Element::f32, 1, 2), (Floats{1, 0x1p64F}));
  spill(path_, "-1,18446744073709551615\n");  // no integer type holds both
  EXPECT_EQ(read_as<float>(Element::f32, 1, 2), (Floats{-1, 0x1p64F}));
  spill(path_, "1,18446744073709551615\n");
  EXPECT_EQ(read_as<std::uint64_t>(Element::u64, 1, 2), (std::vector<std::uint64_t>{1, UINT64_MAX}));
  spill(path_, "-9223372036854775808 9223372036854775807\n");
  EXPECT_EQ(read_as<std::int64_t>(Element::i64, 1, 2), (Integers{INT64_MIN, INT64_MAX}));
  spill(path_, "1e-46,-1e-300,1e-400,0.1\n");
  EXPECT_EQ(read_as<float>(Element::f32, 1, 4), (Floats{0, 0, 0, 0.1F}));
  spill(path_, "1,nan\n-inf,inf\n");
  const auto odd = read_as<float>(Element::f32, 2, 2);
  EXPECT_TRUE(std::isnan(odd[1]) && std::isinf(odd[2]) && odd[2] < 0 && std::isinf(odd[3]));
}

TEST_F(Csv, ReadsGzip) {
  spill(path_, "x,y\n1,2\n3,4\n");
  ASSERT_EQ(std::system(("gzip " + path_).c_str()), 0);
  path_ += ".gz";
  EXPECT_EQ(read_as<std::int64_t>(Element::i64, 2, 2), (Integers{1, 2, 3, 4}));
}

TEST_F(Csv, NamesWhatIsWrong) {
  EXPECT_EQ(error("1,2,3\n4,5\n"), path_ + ": line 2 has 2 values, the first row has 3; all rows must have the same");
  EXPECT_HAS(error("# c\nx,y\n1,2\n1,2,3\n"), "line 4 has 3 values, the first row has 2");
  EXPECT_HAS(error("1,2\n\n3,4\n"), "line 2 has 0 values, the first row has 2");
  EXPECT_EQ(error("1,2\n3,4x\n"), path_ + ": line 2, column 2: '4x' is not a number");
  EXPECT_EQ(error("1.5,2\n,4\n"), path_ + ": line 2 has nothing in column 1");
  EXPECT_HAS(error("1,2,\n3,4,\n"), "line 1 has nothing in column 3");
  EXPECT_HAS(error("1,2\n3,1e309\n"), "line 2, column 2: '1e309' is too large for a 64-bit float");
  EXPECT_HAS(error("1,2\n3,-1e999999\n"), "'-1e999999' is too large");
  EXPECT_HAS(error("1 2\n3 +-4\n"), "line 2, column 2: '+-4' is not a number");
  EXPECT_HAS(error("1,2\n3,0x10\n"), "'0x10' is not a number");
  EXPECT_HAS(error("1,2\n3,\x01\xff\n"), "'\?\?' is not a number");
  EXPECT_HAS(error(fmt::format("1\n{:z<100}", "")), fmt::format("'{:z<40}...' is not a number", ""));
  EXPECT_EQ(error(std::string_view("1,2\n3,4\n5,\0006\n", 13)), path_ + ": has a NUL byte in line 3; it is not text");
  EXPECT_EQ(error("x,y\n"), path_ + ": has no row of numbers");
  EXPECT_EQ(error("\n\n"), path_ + ": has no row of numbers");
}

// Slow: lines of 64 and 200 MB are written to be refused.
TEST_F(Csv, ReadsLongLinesButNoEndlessOnes) {
  constexpr std::size_t kDimension = 100'000;
  std::string text;
  Floats expected;
  for (int row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < kDimension; ++i) {
      expected.push_back(static_cast<float>(i) + 0.25F);
      text += fmt::format("{}{}", i > 0 ? "," : "", expected.back());
    }
    text += '\n';
  }
  spill(path_, text);
  EXPECT_EQ(read_as<float>(Element::f32, 3, kDimension), expected);
  EXPECT_HAS(error(fmt::format("1\n{:7<{}}\n", "", (64 << 20) + 1)), "line 2 is over 64 MB long");
  EXPECT_HAS(error(fmt::format("1\n{:7<{}}", "", 200 << 20)), "line 2 is over 64 MB long");
}

// Lines that begin and end everywhere with regard to the pieces in which the file is read.
TEST_F(Csv, ReadsAcrossPieces) {
  std::string text;
  Integers expected;
  std::mt19937_64 random(3);
  for (int i = 0; i < 200'000; ++i) {
    expected.push_back(static_cast<std::int64_t>(random() >> random() % 64));
    text += fmt::format("{}{}", expected.back(), i % 2 == 0 ? "," : "\r\n");
  }
  spill(path_, text);
  EXPECT_EQ(read_as<std::int64_t>(Element::i64, 100'000, 2), expected);
}

TEST_F(Csv, WritesWhatReadsBackTheSame) {
  for (const char* name : {"b.csv", "b.tsv", "b.txt"}) {
    path_ = directory_ / name;
    for (const std::size_t piece : {1, 7, 67}) {
      const Shape shape{33, 67, Element::f32};
      const Bytes floats = sample(shape);
      write_vectors(kCsv, {path_, shape, ""}, floats, piece);
      const auto reader = open_vectors(path_);
      EXPECT_TRUE(reader->shape() == shape);
      EXPECT_EQ(read_vectors(*reader, piece), floats);
      const std::string text = read_whole_file(path_, 1 << 20);
      EXPECT_EQ(text.find('\t') != std::string::npos, std::string(name) == "b.tsv");
    }
  }
}

TEST_F(Csv, WritesEveryTypeExactly) {
  for (const Element element : kCsv.stores) {
    SCOPED_TRACE(name_of(element));
    const Shape shape{5, 8, element};
    const Bytes bytes = sample(shape);
    write_vectors(kCsv, {path_, shape, ""}, bytes, 3);
    std::ifstream file(path_);
    visit_element(element, [&](auto type) {
      using T = typename decltype(type)::type;
      if constexpr (std::is_arithmetic_v<T>) {
        for (const T expected : values_of_bytes<T>(bytes)) {
          std::string token;
          char c = 0;
          while (file.get(c) && c != ',' && c != '\n') token += c;
          T value{};
          std::from_chars(token.data(), token.data() + token.size(), value);
          ASSERT_EQ(value, expected) << token;
        }
      } else {
        FAIL() << "cannot be printed";
      }
    });
  }
  const std::vector<double> doubles = {0.1, 1.0 / 3};
  write_vectors(kCsv, {path_, {2, 1, Element::f64}, ""}, bytes_of_values(doubles), 1);
  EXPECT_EQ(read_whole_file(path_, 100), "0.1,0.3333333333333333\n");
}

TEST_F(Csv, RefusesToCompress) {
  EXPECT_HAS(error_of([&] { kCsv.create({path_ + ".gz", {1, 1, Element::f32}, ""}); }), "leave out .gz");
  EXPECT_EQ(directory_.files(), 0U);
}

TEST_F(Csv, NoticesAFileThatChanges) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "1,2\n";  // more than is read ahead
  spill(path_, text);
  const auto reader = open_vectors(path_);
  std::filesystem::resize_file(path_, text.size() / 2);
  EXPECT_HAS(error_of([&] { read_vectors(*reader); }), "changed while it was read");
}

}  // namespace
}  // namespace bdnn::format_testing
