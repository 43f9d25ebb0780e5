// Formats without named parts: xvecs, npy, idx, CIFAR-10; and what all of them share.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <fstream>

#include "base/random.h"
#include "data/convert.h"
#include "data/format.h"
#include "expect_error.h"
#include "temporary_directory.h"
#include "whole_file.h"

namespace bdnn {
namespace {

using testing::TemporaryDirectory;

std::string get(const std::string& path) { return read_whole_file(path, 1 << 24); }

void put_gzip(const std::string& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

std::vector<std::byte> random_bytes(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> bytes(n);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  return bytes;
}

void write_all(const std::string& path, const Shape& shape, const std::vector<std::byte>& bytes,
               const std::vector<std::int64_t>& labels = {}) {
  const auto writer = format_for_writing(path).create({path, shape, "", labels});
  const std::size_t half = shape.count / 2;
  writer->write(half, bytes.data());
  writer->write(shape.count - half, bytes.data() + half * shape.bytes_per_vector());
  writer->finish();
}

std::vector<std::byte> read_in_pieces(const std::string& path, std::size_t piece) {
  const auto reader = open_vectors(path);
  const Shape& shape = reader->shape();
  std::vector<std::byte> bytes(shape.count * shape.bytes_per_vector());
  for (std::size_t i = 0; i < shape.count; i += piece) {
    reader->read(std::min(piece, shape.count - i), bytes.data() + i * shape.bytes_per_vector());
  }
  return bytes;
}

TEST(Formats, EveryElementTypeComesBackFromEveryFormatThatStoresIt) {
  const TemporaryDirectory directory;
  for (const std::string name : {"x.fvecs", "x.ivecs", "x.bvecs", "x.npy", "x.idx", "x.idx.gz"}) {
    for (const Element element : format_for_writing(name).stores) {
      for (const Shape shape : {Shape{1, 1, element}, Shape{5, 3, element}, Shape{300, 17, element}}) {
        const auto bytes = random_bytes(shape.count * shape.bytes_per_vector(), 1);
        write_all(directory / name, shape, bytes);
        const auto reader = open_vectors(directory / name);
        EXPECT_EQ(reader->shape().dimension, shape.dimension) << name;
        EXPECT_EQ(reader->shape().count, shape.count) << name;
        EXPECT_EQ(name_of(reader->shape().element), name_of(element)) << name;
        for (const std::size_t piece : {1, 4, 1000}) EXPECT_EQ(read_in_pieces(directory / name, piece), bytes) << name;
      }
    }
  }
}

TEST(Formats, StrongSignaturesWinOverTheName) {
  const TemporaryDirectory directory;
  const Shape shape{4, 6, Element::f32};
  const auto bytes = random_bytes(shape.count * shape.bytes_per_vector(), 2);
  write_all(directory / "x.npy", shape, bytes);
  std::filesystem::rename(directory / "x.npy", directory / "x.fvecs");
  EXPECT_EQ(format_of(open_source(directory / "x.fvecs")).name, "npy");
  write_all(directory / "y.idx", shape, bytes);
  std::filesystem::rename(directory / "y.idx", directory / "y.anything");
  EXPECT_EQ(format_of(open_source(directory / "y.anything")).name, "idx");
  testing::write_file(directory / "z.dat", "what is this?");
  EXPECT_BDNN_ERROR(open_vectors(directory / "z.dat"), failure, "z.dat: has no known format");
}

TEST(Formats, TruncatedFilesAreErrors) {
  const TemporaryDirectory directory;
  const Shape shape{7, 5, Element::f32};
  for (const std::string name : {"x.fvecs", "x.npy", "x.idx"}) {
    write_all(directory / name, shape, random_bytes(shape.count * shape.bytes_per_vector(), 3));
    const std::string whole = get(directory / name);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      testing::write_file(directory / name, whole.substr(0, length));
      if (name == "x.fvecs" && length > 0 && length % 32 == 0) {  // a shorter file of whole vectors is a valid one
        EXPECT_EQ(load_vectors(directory / name).size(), length / 32);
        continue;
      }
      EXPECT_THROW(load_vectors(directory / name), Error) << name << " of " << length << " bytes";
    }
  }
  testing::write_file(directory / "x.bin", std::string(3073 * 2 - 1, '\1'));
  EXPECT_BDNN_ERROR(load_vectors(directory / "x.bin"), failure, "x.bin: is truncated or not a CIFAR-10 file");
}

TEST(Formats, TruncatedGzipIsAnError) {
  const TemporaryDirectory directory;
  const Shape shape{50, 40, Element::u8};
  write_all(directory / "x.idx.gz", shape, random_bytes(2000, 4));
  const std::string whole = get(directory / "x.idx.gz");
  for (std::size_t length = 0; length < whole.size(); length += 13) {
    testing::write_file(directory / "x.idx.gz", whole.substr(0, length));
    EXPECT_THROW(load_vectors(directory / "x.idx.gz"), Error) << length;
  }
}

TEST(Formats, EmptyAndMissingFilesAreNamed) {
  const TemporaryDirectory directory;
  testing::write_file(directory / "x.npy", "");
  EXPECT_BDNN_ERROR(load_vectors(directory / "x.npy"), failure, "x.npy: is empty");
  EXPECT_BDNN_ERROR(load_vectors(directory / "none.npy"), failure, "none.npy: cannot open: No such file");
  write_all(directory / "y.npy", {3, 2, Element::f32}, random_bytes(24, 5));
  EXPECT_BDNN_ERROR(load_vectors(directory / "y.npy:train"), misuse, "a npy file has no named parts");
}

TEST(Xvecs, RowsOfDifferentLengthAreNamed) {
  const TemporaryDirectory directory;
  std::string bytes;
  for (const std::int32_t dimension : {3, 3, 1, 5}) {  // the total would fit 4 rows of 3
    bytes.append(reinterpret_cast<const char*>(&dimension), 4);
    bytes.append(static_cast<std::size_t>(dimension) * 4, '\0');
  }
  testing::write_file(directory / "x.fvecs", bytes);
  EXPECT_BDNN_ERROR(load_vectors(directory / "x.fvecs"), failure, "row 2 has dimension 1, the first has 3");
  testing::write_file(directory / "y.fvecs", std::string(8, '\xff'));
  EXPECT_BDNN_ERROR(load_vectors(directory / "y.fvecs"), failure, "dimension -1; expected 1 to");
}

TEST(Npy, HeadersThatNumPyWritesAreRead) {
  const TemporaryDirectory directory;
  const auto npy = [](const std::string& dictionary, const std::string& data, char version = 1) {
    std::string header = dictionary + "\n";
    std::string file = std::string("\x93NUMPY") + version + '\0';
    file += static_cast<char>(header.size() & 0xff);
    file += static_cast<char>(header.size() >> 8);
    if (version > 1) file += std::string(2, '\0');
    return file + header + data;
  };
  const float values[] = {1, 2, 3, 4, 5, 6};
  const std::string data(reinterpret_cast<const char*>(values), sizeof values);
  const auto expect_rows = [&](const std::string& file, const std::vector<float>& expected, std::size_t dimension) {
    testing::write_file(directory / "x.npy", file);
    const Vectors x = load_vectors(directory / "x.npy");
    ASSERT_EQ(x.dimension(), dimension);
    std::vector<float> got(x.size() * x.dimension());
    to_float(x.shape().element, x.data(), got.size(), got.data());
    EXPECT_EQ(got, expected);
  };
  expect_rows(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data), {1, 2, 3, 4, 5, 6}, 3);
  expect_rows(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data, 2), {1, 2, 3, 4, 5, 6}, 3);
  expect_rows(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", data), {1, 3, 5, 2, 4, 6}, 3);
  expect_rows(npy("{'shape': (6,), 'fortran_order': True, \"descr\": \"<f4\"}", data), {1, 2, 3, 4, 5, 6}, 1);
  expect_rows(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", data), {1, 2, 3, 4, 5, 6}, 6);
  expect_rows(npy("{'descr': '>i2', 'fortran_order': False, 'shape': (1, 2), }", std::string("\x01\x00\xff\xfe", 4)),
              {256, -2}, 2);
  expect_rows(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1, 2), }", std::string("\x01\x00", 2)), {1, 0},
              2);

  const auto expect_refused = [&](const std::string& dictionary, const std::string& message) {
    testing::write_file(directory / "x.npy", npy(dictionary, data));
    EXPECT_BDNN_ERROR(load_vectors(directory / "x.npy"), failure, message);
  };
  expect_refused("{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }", "NumPy type '<c8'");
  expect_refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }", "NumPy type");
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "a single number");
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }", "is truncated");
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 4), }", "is truncated");
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4611686018427387905), }", "is truncated");
  expect_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 0), }", "holds no vectors");
  expect_refused("{'descr': '<f4', 'fortran_order': False}", "no readable 'shape'");
}

TEST(Idx, MnistAsItComes) {
  const TemporaryDirectory directory;
  std::string bytes("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02", 16);
  bytes += "abcdefgh";
  put_gzip(directory / "train-images-idx3-ubyte.gz", bytes);
  const Vectors images = load_vectors(directory / "train-images-idx3-ubyte.gz");
  EXPECT_EQ(images.size(), 2U);
  EXPECT_EQ(images.dimension(), 4U);
  EXPECT_EQ(images.shape().element, Element::u8);
  EXPECT_EQ(std::memcmp(images.data(), "abcdefgh", 8), 0);
  testing::write_file(directory / "labels", std::string("\0\0\x08\x01\0\0\0\x03\x07\x00\x09", 11));
  EXPECT_EQ(load_labels(directory / "labels"), (std::vector<std::int64_t>{7, 0, 9}));
}

TEST(Cifar10, ImagesAndLabels) {
  const TemporaryDirectory directory;
  const Shape shape{3072, 3, Element::u8};
  const auto pixels = random_bytes(3 * 3072, 6);
  write_all(directory / "x.bin", shape, pixels, {3, 9, 0});
  EXPECT_EQ(read_in_pieces(directory / "x.bin", 2), pixels);
  EXPECT_EQ(load_labels(directory / "x.bin"), (std::vector<std::int64_t>{3, 9, 0}));
  EXPECT_BDNN_ERROR(write_all(directory / "y.bin", shape, pixels), misuse, "needs a label per image");
  EXPECT_BDNN_ERROR(write_all(directory / "y.bin", shape, pixels, {3, 10, 0}), misuse, "label 10 of vector 1");
  EXPECT_BDNN_ERROR(write_all(directory / "y.bin", {5, 3, Element::u8}, pixels), misuse, "images of 3072 bytes");
  testing::write_file(directory / "z.bin", std::string(3073, '\x0a'));
  EXPECT_BDNN_ERROR(load_vectors(directory / "z.bin"), failure, "has the label 10");
}

TEST(Labels, AreIntegersInAColumnOrARow) {
  const TemporaryDirectory directory;
  const std::vector<std::int64_t> labels = {5, -1, 70000, 5};
  for (const std::string name : {"y.npy", "y.ivecs", "y.csv", "y.mat", "y.hdf5"}) {
    save_labels(labels, directory / name);
    EXPECT_EQ(load_labels(directory / name), labels) << name;
  }
  EXPECT_EQ(save_labels({0, 9, 255}, directory / "small.npy").element, Element::u8);
  testing::write_file(directory / "row.csv", "1,2,3\n");
  EXPECT_EQ(load_labels(directory / "row.csv"), (std::vector<std::int64_t>{1, 2, 3}));
  testing::write_file(directory / "table.csv", "1,2\n3,4\n");
  EXPECT_BDNN_ERROR(load_labels(directory / "table.csv"), failure, "labels must be one column or one row");
  testing::write_file(directory / "real.csv", "1\n2.5\n");
  EXPECT_BDNN_ERROR(load_labels(directory / "real.csv"), failure, "label 1 is 2.5; labels are integers");
  EXPECT_BDNN_ERROR(save_labels(labels, directory / "y.bvecs"), misuse, "labels -1 to 70000 do not fit");
}

TEST(Labels, MayBeNamesInText) {
  const TemporaryDirectory directory;
  const auto load = [&](const std::string& text, LabelNames* names = nullptr) {
    testing::write_file(directory / "y.csv", text);
    return load_labels(directory / "y.csv", names);
  };
  const std::int64_t cat = label_of("cat");
  const std::int64_t dog = label_of("dog");
  EXPECT_NE(cat, dog);
  EXPECT_GE(cat, 0);
  const std::vector<std::int64_t> expected = {cat, dog, -1, cat};
  EXPECT_EQ(load("cat\ndog\n-1\ncat\n"), expected);
  EXPECT_EQ(load("# classes\n\ncat\r\n dog\r\n-1\r\n\"cat\""), expected);
  EXPECT_EQ(load("cat,dog,-1,cat\n"), expected);
  EXPECT_EQ(load("-1\n-1\ncat\n"), (std::vector<std::int64_t>{-1, -1, cat}));
  EXPECT_EQ(load("cat\n-1\n"), (std::vector<std::int64_t>{cat, -1}));
  EXPECT_EQ(load("cat\n"), std::vector<std::int64_t>{cat});

  LabelNames names;
  EXPECT_EQ(load("sea lion\n\"lion, \"\"young\"\"\"\n\"7\"\n", &names),
            (std::vector<std::int64_t>{label_of("sea lion"), label_of("lion, \"young\""), label_of("7")}));
  EXPECT_EQ(names, (LabelNames{{label_of("sea lion"), "sea lion"},
                               {label_of("lion, \"young\""), "lion, \"young\""},
                               {label_of("7"), "7"}}));

  // Text above numbers is a heading, and a slip among numbers is no class of its own.
  EXPECT_EQ(load("label\n-1\n7\n"), (std::vector<std::int64_t>{-1, 7}));
  EXPECT_BDNN_ERROR(load("5\n3x\n7\n"), failure, "line 2, column 1: '3x' is not a number");
  EXPECT_BDNN_ERROR(load("cat\ndog\n7\n"), failure, "line 3 has the number 7 among names");
  EXPECT_EQ(load("label\n# of two\n1\n2\n"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(load("cat\n3 cats\nnan\n"), (std::vector<std::int64_t>{cat, label_of("3 cats"), label_of("nan")}));
  EXPECT_EQ(load("\"lion; young\",cat"), (std::vector<std::int64_t>{label_of("lion; young"), cat}));
  EXPECT_EQ(load("cat\ndog\n\n\n"), (std::vector<std::int64_t>{cat, dog}));
  EXPECT_BDNN_ERROR(load("cat,dog\ncat,dog\n"), failure,
                    "line 1 has several names; labels must be one column or one row");
  EXPECT_BDNN_ERROR(load("cat\nlion, young\n"), failure, "line 2 has several names");
  EXPECT_BDNN_ERROR(load("cat,,dog\n"), failure, "line 1 lacks a name");
  EXPECT_BDNN_ERROR(load("cat\n\"\"\ndog\n"), failure, "line 2 lacks a name");
  EXPECT_BDNN_ERROR(load("cat\n\ndog\n"), failure, "line 2 lacks a name");
  EXPECT_BDNN_ERROR(load("cat\n\"dog\n"), failure, "line 2: the quotes of a name");
  EXPECT_BDNN_ERROR(load("cat\n\"a\" and \"b\"\n"), failure, "line 2: the quotes of a name");
  testing::write_file(directory / "ids.csv", "cat\ndog\n");
  EXPECT_BDNN_ERROR(load_integers(directory / "ids.csv"), failure, "is not a number");
}

}  // namespace
}  // namespace bdnn
