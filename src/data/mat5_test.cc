#include <fmt/format.h>
#include <gtest/gtest.h>
#include <matio.h>
#include <zlib.h>

#include <numeric>

#include "data/format_testing.h"
#include "peak_memory.h"

namespace bdnn::format_testing {
namespace {

// Builds the bytes of a file piece by piece, in either byte order, as the format's description has them.
class Builder {
 public:
  explicit Builder(bool big_endian = false) : big_endian_(big_endian) {
    text_ = "MATLAB 5.0 MAT-file, by a test";
    text_.resize(124, ' ');
    number<std::uint16_t>(0x0100);
    number<std::uint16_t>('M' << 8 | 'I');
  }

  template <class T>
  Builder& number(T value) {
    std::array<char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(T));
    if (big_endian_) std::reverse(bytes.begin(), bytes.end());
    text_.append(bytes.begin(), bytes.end());
    return *this;
  }
  Builder& words(std::initializer_list<std::uint32_t> values) {
    for (const auto value : values) number(value);
    return *this;
  }
  Builder& raw(std::string_view bytes) {
    text_ += bytes;
    return *this;
  }
  // A name of at most four letters, within its tag.
  Builder& small_name(std::string_view name) {
    words({static_cast<std::uint32_t>(name.size() << 16 | 1)});
    text_ += name;
    text_.append(4 - name.size(), '\0');
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  bool big_endian_;
  std::string text_;
};

class Mat5 : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::string path_ = directory_ / "a.mat";

  template <class T>
  std::vector<T> read_as(Element element, std::size_t count, std::size_t dimension, const std::string& part = "") {
    const auto reader = open_vectors(part.empty() ? path_ : path_ + ":" + part);
    EXPECT_EQ(reader->shape().element, element);
    EXPECT_EQ(reader->shape().count, count);
    EXPECT_EQ(reader->shape().dimension, dimension);
    return values_of_bytes<T>(read_vectors(*reader, 1));
  }
};

struct Numeric {
  matio_classes kind;
  matio_types type;
  Element element;
};
constexpr Numeric kNumeric[] = {{MAT_C_SINGLE, MAT_T_SINGLE, Element::f32}, {MAT_C_DOUBLE, MAT_T_DOUBLE, Element::f64},
                                {MAT_C_UINT8, MAT_T_UINT8, Element::u8},    {MAT_C_INT8, MAT_T_INT8, Element::i8},
                                {MAT_C_UINT16, MAT_T_UINT16, Element::u16}, {MAT_C_INT16, MAT_T_INT16, Element::i16},
                                {MAT_C_UINT32, MAT_T_UINT32, Element::u32}, {MAT_C_INT32, MAT_T_INT32, Element::i32},
                                {MAT_C_UINT64, MAT_T_UINT64, Element::u64}, {MAT_C_INT64, MAT_T_INT64, Element::i64}};

// MATLAB's order, column after column.
Bytes columns_of(const Shape& shape, const Bytes& rows) {
  const std::size_t size = size_of(shape.element);
  Bytes columns(rows.size());
  for (std::size_t i = 0; i < shape.count; ++i) {
    for (std::size_t d = 0; d < shape.dimension; ++d) {
      std::memcpy(&columns[(d * shape.count + i) * size], &rows[(i * shape.dimension + d) * size], size);
    }
  }
  return columns;
}

class MatioFile {
 public:
  explicit MatioFile(const std::string& path, matio_compression compression = MAT_COMPRESSION_NONE)
      : file_(Mat_CreateVer(path.c_str(), nullptr, MAT_FT_MAT5)), compression_(compression) {}
  ~MatioFile() { Mat_Close(file_); }
  MatioFile(const MatioFile&) = delete;
  MatioFile& operator=(const MatioFile&) = delete;

  void add(matvar_t* variable) {
    ASSERT_NE(variable, nullptr);
    EXPECT_EQ(Mat_VarWrite(file_, variable, compression_), 0);
    Mat_VarFree(variable);
  }
  void add(const char* name, const Shape& shape, const Bytes& rows) {
    Bytes columns = columns_of(shape, rows);
    std::size_t dims[] = {shape.count, shape.dimension};
    for (const auto& known : kNumeric) {
      if (known.element == shape.element) {
        add(Mat_VarCreate(name, known.kind, known.type, 2, dims, columns.data(), 0));
      }
    }
  }

 private:
  mat_t* file_;
  matio_compression compression_;
};

TEST_F(Mat5, RoundTrips) { expect_round_trips(kMat5, path_); }

// Slow: every type of number in every shape, also compressed.
TEST_F(Mat5, ReadsWhatMatioWrites) {
  constexpr std::size_t kShapes[][2] = {{1, 1}, {3, 1}, {1, 5}, {33, 67}, {300, 900}};
  for (const auto compression : {MAT_COMPRESSION_NONE, MAT_COMPRESSION_ZLIB}) {
    for (const auto& known : kNumeric) {
      for (const auto& [dimension, count] : kShapes) {
        const Shape shape{dimension, count, known.element};
        SCOPED_TRACE(fmt::format("{} x {} {}", count, dimension, name_of(known.element)));
        const Bytes rows = sample(shape);
        MatioFile(path_, compression).add("a_variable", shape, rows);
        for (const std::size_t piece : {std::size_t{7}, count}) {
          const auto reader = open_vectors(path_);
          ASSERT_TRUE(reader->shape() == shape);
          ASSERT_EQ(read_vectors(*reader, piece), rows);
        }
      }
    }
  }
}

TEST_F(Mat5, MatioReadsWhatWeWrite) {
  for (const auto& known : kNumeric) {
    for (const char* name : {"X", "a_longer_name"}) {
      const Shape shape{3, 5, known.element};
      SCOPED_TRACE(name_of(known.element));
      const Bytes rows = sample(shape);
      write_vectors(kMat5, {path_, shape, name}, rows, 2);
      mat_t* file = Mat_Open(path_.c_str(), MAT_ACC_RDONLY);
      ASSERT_NE(file, nullptr);
      EXPECT_EQ(Mat_GetVersion(file), MAT_FT_MAT5);
      matvar_t* variable = Mat_VarRead(file, name);
      ASSERT_NE(variable, nullptr);
      EXPECT_EQ(variable->class_type, known.kind);
      ASSERT_EQ(variable->rank, 2);
      EXPECT_EQ(variable->dims[0], shape.count);
      EXPECT_EQ(variable->dims[1], shape.dimension);
      const Bytes columns = columns_of(shape, rows);
      ASSERT_EQ(variable->nbytes, columns.size());
      EXPECT_EQ(std::memcmp(variable->data, columns.data(), columns.size()), 0);
      Mat_VarFree(variable);
      Mat_Rewind(file);
      variable = Mat_VarReadNextInfo(file);
      ASSERT_NE(variable, nullptr);
      Mat_VarFree(variable);
      EXPECT_EQ(Mat_VarReadNextInfo(file), nullptr);
      Mat_Close(file);
    }
  }
}

TEST_F(Mat5, PassesOverWhatIsNoMatrix) {
  for (const auto compression : {MAT_COMPRESSION_NONE, MAT_COMPRESSION_ZLIB}) {
    const Shape shape{4, 9, Element::f64};
    const Bytes rows = sample(shape);
    std::size_t one[] = {1, 1}, text_dims[] = {1, 4}, deep[] = {2, 3, 4};
    {
      MatioFile file(path_, compression);
      char text[] = "text";
      file.add(Mat_VarCreate("note", MAT_C_CHAR, MAT_T_UINT8, 2, text_dims, text, 0));
      const char* fields[] = {"a"};
      file.add(Mat_VarCreateStruct("record", 2, one, fields, 1));
      matvar_t* cell = Mat_VarCreate("cell", MAT_C_CELL, MAT_T_CELL, 2, one, nullptr, 0);
      std::uint8_t byte = 1;
      Mat_VarSetCell(cell, 0, Mat_VarCreate(nullptr, MAT_C_UINT8, MAT_T_UINT8, 2, one, &byte, 0));
      file.add(cell);
      double real = 1, imaginary = 2;
      mat_complex_split_t complex = {&real, &imaginary};
      file.add(Mat_VarCreate("wave", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, one, &complex, MAT_F_COMPLEX));
      mat_uint32_t row[] = {0}, start[] = {0, 1};
      mat_sparse_t sparse{};
      sparse.nzmax = sparse.nir = sparse.ndata = 1;
      sparse.njc = 2;
      sparse.ir = row;
      sparse.jc = start;
      sparse.data = &real;
      file.add(Mat_VarCreate("thin", MAT_C_SPARSE, MAT_T_DOUBLE, 2, one, &sparse, 0));
      file.add("features", shape, rows);
      std::vector<std::int16_t> values(24);
      std::iota(values.begin(), values.end(), std::int16_t{0});
      file.add(Mat_VarCreate("deep", MAT_C_INT16, MAT_T_INT16, 3, deep, values.data(), 0));
    }
    EXPECT_EQ(read_as<double>(Element::f64, 9, 4), values_of_bytes<double>(rows));
    const auto flat = read_as<std::int16_t>(Element::i16, 2, 12, "deep");
    for (std::size_t j = 0; j < 12; ++j) EXPECT_EQ(flat[12 + j], static_cast<std::int16_t>(2 * j + 1));
    EXPECT_HAS(open_error(path_ + ":note"), path_ + ":note: is of type char");
    EXPECT_HAS(open_error(path_ + ":record"), "is of type struct");
    EXPECT_HAS(open_error(path_ + ":cell"), "is of type cell");
    EXPECT_HAS(open_error(path_ + ":wave"), "is of type complex double");
    EXPECT_HAS(open_error(path_ + ":thin"), "is of type sparse");
    const std::string error = open_error(path_ + ":nil");
    EXPECT_HAS(error, path_ + ": has no variable 'nil'");
    EXPECT_HAS(error, "features (9 x 4 f64), deep (2 x 3 x 4 i16)");
  }
}

TEST_F(Mat5, ChoosesUsualNames) {
  const Shape shape{2, 3, Element::u8};
  const Bytes a = sample(shape, 1), b = sample(shape, 2);
  const auto make = [&](const char* first, const char* second) {
    MatioFile file(path_);
    file.add(first, shape, a);
    file.add(second, shape, b);
  };
  make("labels", "data");
  EXPECT_EQ(read_vectors(*open_vectors(path_)), b);
  EXPECT_EQ(read_vectors(*open_vectors(path_ + ":labels")), a);
  make("X", "train");
  EXPECT_HAS(open_error(path_), "X (3 x 2 u8), train (3 x 2 u8)");
  make("a", "b");
  EXPECT_HAS(open_error(path_), path_ + ": it is unclear which variable holds the vectors");
}

// Doubles that MATLAB stored as bytes, a name within its tag, data within theirs, and either byte order.
TEST_F(Mat5, ReadsCompactStorage) {
  for (const bool big_endian : {false, true}) {
    Builder file(big_endian);
    file.words({14, 16 + 16 + 8 + 8 + 8, 6, 8, 6, 0, 5, 8, 2, 3}).small_name("abc").words({2, 6});
    file.raw(std::string_view("\1\2\3\4\5\6\0\0", 8));
    file.words({14, 16 + 16 + 8 + 8, 6, 8, 6, 0, 5, 8, 1, 2}).small_name("d").words({4 << 16 | 3});
    file.number<std::int16_t>(-7).number<std::int16_t>(300);
    file.words({14, 16 + 16 + 8 + 8 + 8, 6, 8, 0x200 | 9, 0, 5, 8, 1, 1}).small_name("flag").words({9, 8});
    file.number(2.5);
    spill(path_, file.text());
    EXPECT_EQ(read_as<std::uint8_t>(Element::u8, 2, 3, "abc"), (std::vector<std::uint8_t>{1, 3, 5, 2, 4, 6}));
    EXPECT_EQ(read_as<std::int16_t>(Element::i16, 1, 2, "d"), (std::vector<std::int16_t>{-7, 300}));
    EXPECT_EQ(read_as<double>(Element::f64, 1, 1, "flag"), (std::vector<double>{2.5}));
  }
}

TEST_F(Mat5, ReadsCompressedBigEndian) {
  Builder inner(true);
  inner.words({14, 16 + 16 + 8 + 8 + 16, 6, 8, 6, 0, 5, 8, 2, 1}).small_name("X").words({9, 16});
  inner.number(1.5).number(-2.5);
  const std::string plain = inner.text().substr(128);
  std::vector<Bytef> packed(compressBound(plain.size()));
  uLongf length = packed.size();
  ASSERT_EQ(compress(packed.data(), &length, reinterpret_cast<const Bytef*>(plain.data()), plain.size()), Z_OK);
  Builder file(true);
  file.words({15, static_cast<std::uint32_t>(length)});
  file.raw({reinterpret_cast<const char*>(packed.data()), length});
  spill(path_, file.text());
  EXPECT_EQ(read_as<double>(Element::f64, 2, 1), (std::vector<double>{1.5, -2.5}));
}

TEST_F(Mat5, RefusesSizesThatTheDataDoNotHave) {
  const auto make = [&](std::uint32_t rows, std::uint32_t columns, std::uint32_t data, std::uint32_t whole) {
    Builder file;
    file.words({14, whole, 6, 8, 6, 0, 5, 8, rows, columns}).small_name("X").words({9, data});
    file.number(1.0).number(2.0);
    spill(path_, file.text());
    return open_error(path_);
  };
  EXPECT_EQ(make(2, 1, 16, 64), "");
  EXPECT_HAS(make(3, 1, 16, 64), "its variable X has 16 bytes for 3 x 1 elements of f64");
  EXPECT_HAS(make(3, 1, 24, 64), "longer than it says");
  EXPECT_HAS(make(3, 1, 24, 72), "is truncated: a variable of 72 bytes");
  EXPECT_HAS(make(0x7fffffff, 0x7fffffff, 16, 64), "which no file can hold");
  EXPECT_HAS(make(0xffffffff, 1, 16, 64), "has the size -1");
  EXPECT_HAS(make(0, 0x7fffffff, 0, 64), "holds no vectors");
}

TEST_F(Mat5, RefusesWhatItCannotHold) {
  const std::string error = error_of([&] { kMat5.create({path_, {1 << 16, 1 << 14, Element::f32}, ""}); });
  EXPECT_HAS(error, path_ + ": a variable of 4294967296 bytes is over the 2 GB");
  EXPECT_HAS(error, ".mat73 or .hdf5");
  EXPECT_HAS(error_of([&] { kMat5.create({path_, {1, 1, Element::f32}, "2x"}); }), "cannot name a MATLAB variable");
  EXPECT_HAS(error_of([&] { kMat5.create({path_ + ".gz", {1, 1, Element::f32}, ""}); }), "leave out .gz");
  EXPECT_EQ(directory_.files(), 0U);
  spill(path_, "MATLAB 4 has no such header");
  EXPECT_HAS(open_error(path_), path_ + ": does not start as MATLAB's files of version 5 do");
  write_vectors(kMat5, {path_, {3, 2, Element::f32}, ""}, sample({3, 2, Element::f32}), 2);
  ASSERT_EQ(std::system(("gzip -k " + path_).c_str()), 0);
  EXPECT_HAS(open_error(path_ + ".gz"), "decompress it first");
}

TEST_F(Mat5, NoticesTruncation) {
  const Shape shape{5, 21, Element::f32};
  const Bytes rows = sample(shape);
  for (const auto compression : {MAT_COMPRESSION_NONE, MAT_COMPRESSION_ZLIB}) {
    MatioFile(path_, compression).add("X", shape, rows);
    expect_truncations_are_noticed(path_, directory_ / "cut.mat", rows, SIZE_MAX);
  }
}

TEST_F(Mat5, NoticesDamageWithinCompressedData) {
  const Shape shape{50, 40, Element::f32};
  const Bytes rows = sample(shape);
  MatioFile(path_, MAT_COMPRESSION_ZLIB).add("X", shape, rows);
  Bytes whole = slurp(path_);
  for (std::size_t at = 200; at < whole.size(); at += 37) {
    whole[at] ^= std::byte{0x10};
    spill(path_, whole);
    EXPECT_NE(open_error(path_), "") << "at byte " << at;
    whole[at] ^= std::byte{0x10};
  }
}

// A stream of zeros that claims to be a huge matrix must not cost more memory than it has data.
TEST_F(Mat5, AllocatesOnlyWhatIsThere) {
  const std::uint32_t claimed = 0xfffffff0U;
  Builder inner;
  inner.words({14, claimed, 6, 8, 9, 0, 5, 8, 0x7fffff00, 1}).small_name("X").words({2, 0x7fffff00});
  const std::string plain = inner.text().substr(128) + std::string(1000, '\0');
  std::vector<Bytef> packed(compressBound(plain.size()));
  uLongf length = packed.size();
  ASSERT_EQ(compress(packed.data(), &length, reinterpret_cast<const Bytef*>(plain.data()), plain.size()), Z_OK);
  Builder file;
  file.words({15, static_cast<std::uint32_t>(length)});
  file.raw({reinterpret_cast<const char*>(packed.data()), length});
  spill(path_, file.text());
  EXPECT_LT(testing::peak_growth([&] { EXPECT_HAS(open_error(path_), "ends within a variable"); }), 64U << 20);
}

TEST_F(Mat5, SurvivesRandomDamage) {
  const Shape small{3, 7, Element::f64}, bytes_shape{4, 5, Element::u8};
  std::vector<Bytes> files;
  for (const auto compression : {MAT_COMPRESSION_NONE, MAT_COMPRESSION_ZLIB}) {
    {
      MatioFile file(path_, compression);
      file.add("X", small, sample(small));
      file.add("codes", bytes_shape, sample(bytes_shape));
    }
    files.push_back(slurp(path_));
  }
  Bytes& plain = files[0];
  std::mt19937 random(7);
  std::size_t refused = 0, read = 0;
  const std::size_t growth = testing::peak_growth([&] {
    for (int i = 0; i < 2000; ++i) {
      Bytes damaged = i % 4 == 0 ? files[1] : plain;
      const std::size_t flips = 1 + random() % 4;
      for (std::size_t f = 0; f < flips; ++f) {
        // Past the text of the header, where nothing depends on it.
        damaged[124 + random() % (damaged.size() - 124)] = static_cast<std::byte>(random() % 3 == 0 ? 0xff : random());
      }
      spill(path_, damaged);
      try {
        const auto reader = open_vectors(i % 2 == 0 ? path_ : path_ + ":codes");
        ASSERT_LE(reader->shape().count * reader->shape().bytes_per_vector(), 1U << 20);
        read_vectors(*reader, 3);
        ++read;
      } catch (const Error&) {
        ++refused;
      }
    }
  });
  EXPECT_LT(growth, 1U << 30);
  EXPECT_GT(refused, 200U);
  EXPECT_GT(read, 200U);
}

}  // namespace
}  // namespace bdnn::format_testing
