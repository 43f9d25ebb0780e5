#include <gtest/gtest.h>
#include <matio.h>

#include "data/hdf5_testing.h"

namespace bdnn::format_testing {
namespace {

class Mat73 : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::string mat_ = directory_ / "a.mat";  // as MATLAB names its files
};

TEST_F(Mat73, RoundTrips) { expect_round_trips(kMat73, mat_); }

TEST_F(Mat73, MatioReadsWhatWeWrite) {
  const Shape shape{3, 5, Element::i16};
  const Bytes bytes = sample(shape);
  write_vectors(kMat73, {mat_, shape, "points"}, bytes, 2);
  mat_t* file = Mat_Open(mat_.c_str(), MAT_ACC_RDONLY);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(Mat_GetVersion(file), MAT_FT_MAT73);
  matvar_t* variable = Mat_VarRead(file, "points");
  ASSERT_NE(variable, nullptr);
  EXPECT_EQ(variable->class_type, MAT_C_INT16);
  ASSERT_EQ(variable->rank, 2);
  EXPECT_EQ(variable->dims[0], 5U);
  EXPECT_EQ(variable->dims[1], 3U);
  const auto expected = values_of_bytes<std::int16_t>(bytes);
  for (std::size_t row = 0; row < 5; ++row) {
    for (std::size_t column = 0; column < 3; ++column) {
      EXPECT_EQ(static_cast<const std::int16_t*>(variable->data)[column * 5 + row], expected[row * 3 + column]);
    }
  }
  Mat_VarFree(variable);
  Mat_Close(file);
}

TEST_F(Mat73, ReadsWhatMatioWrites) {
  for (const matio_compression compression : {MAT_COMPRESSION_NONE, MAT_COMPRESSION_ZLIB}) {
    mat_t* file = Mat_CreateVer(mat_.c_str(), nullptr, MAT_FT_MAT73);
    ASSERT_NE(file, nullptr);
    std::size_t dims[] = {70, 3}, deep[] = {2, 3, 4};
    auto columns = ramp(70 * 3);
    const auto add = [&](const char* name, matio_classes kind, matio_types type, int rank, std::size_t* sizes,
                         void* data, int options = 0) {
      matvar_t* variable = Mat_VarCreate(name, kind, type, rank, sizes, data, options);
      ASSERT_EQ(Mat_VarWrite(file, variable, compression), 0) << name;
      Mat_VarFree(variable);
    };
    char text[] = "some text";
    std::size_t text_dims[] = {1, 9};
    mat_complex_split_t complex = {columns.data(), columns.data()};
    add("feat", MAT_C_SINGLE, MAT_T_SINGLE, 2, dims, columns.data());
    add("note", MAT_C_CHAR, MAT_T_UINT8, 2, text_dims, text);
    add("wave", MAT_C_SINGLE, MAT_T_SINGLE, 2, dims, &complex, MAT_F_COMPLEX);
    add("deep", MAT_C_SINGLE, MAT_T_SINGLE, 3, deep, columns.data());
    const char* fields[] = {"a"};
    std::size_t one[] = {1, 1};
    matvar_t* structure = Mat_VarCreateStruct("record", 2, one, fields, 1);
    ASSERT_EQ(Mat_VarWrite(file, structure, compression), 0);
    Mat_VarFree(structure);
    Mat_Close(file);

    const Source source = open_source(mat_);
    ASSERT_EQ(&format_of(source), &kMat73);
    const auto reader = open_vectors(mat_);  // of the 2-D ones, only feat can be read
    EXPECT_TRUE(reader->shape() == (Shape{3, 70, Element::f32}));
    const auto rows = values_of_bytes<float>(read_vectors(*reader, 7));
    for (std::size_t i = 0; i < 70; ++i) {
      for (std::size_t d = 0; d < 3; ++d) ASSERT_EQ(rows[i * 3 + d], columns[d * 70 + i]);
    }
    const auto flat = open_vectors(mat_ + ":deep");
    EXPECT_TRUE(flat->shape() == (Shape{12, 2, Element::f32}));
    const auto flat_rows = values_of_bytes<float>(read_vectors(*flat));
    for (std::size_t j = 0; j < 12; ++j) EXPECT_EQ(flat_rows[12 + j], columns[2 * j + 1]);
    EXPECT_HAS(open_error(mat_ + ":note"), mat_ + ":note: is of type char");
    EXPECT_HAS(open_error(mat_ + ":wave"), mat_ + ":wave: is of type complex");
    EXPECT_HAS(open_error(mat_ + ":record"), mat_ + ":record: is of type struct");
    EXPECT_HAS(open_error(mat_ + ":nil"), "deep (2 x 3 x 4 f32), feat (70 x 3 f32)");
  }
}

TEST_F(Mat73, ChoosesUsualNames) {
  const auto values = ramp(6);
  const auto make = [&](const std::vector<const char*>& names) {
    {
      RawFile file(mat_, 512);
      for (const char* name : names) {
        file.add(name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {3, 2}, values.data(), {}, "single");
      }
    }
    std::fstream(mat_, std::ios::in | std::ios::out | std::ios::binary) << "MATLAB 7.3 MAT-file, by a test";
  };
  make({"X", "Y"});
  EXPECT_EQ(floats_in(mat_), (std::vector<float>{0.5, 2.5, 4.5, 1.5, 3.5, 5.5}));
  make({"X", "data", "labels"});
  EXPECT_HAS(open_error(mat_), "X (2 x 3 f32), data (2 x 3 f32), labels (2 x 3 f32)");
}

TEST_F(Mat73, PassesOverWhatIsNoMatrix) {
  {
    RawFile file(mat_, 512);
    const std::uint8_t bytes[] = {1, 0, 1, 1, 0, 0};
    const std::uint64_t sizes[] = {0, 3};
    const auto mark = [&](const char* object, const char* name) {
      const hid_t scalar = H5Screate(H5S_SCALAR);
      const hid_t attribute =
          H5Acreate_by_name(file.get(), object, name, H5T_STD_U64LE, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      H5Awrite(attribute, H5T_NATIVE_UINT64, sizes);
      H5Aclose(attribute);
      H5Sclose(scalar);
    };
    file.add("mask", H5T_STD_U8LE, H5T_NATIVE_UINT8, {3, 2}, bytes, {}, "logical");
    file.add("#refs#/a", H5T_STD_U8LE, H5T_NATIVE_UINT8, {3, 2}, bytes, {}, "uint8");
    file.add("cells", H5T_STD_U8LE, H5T_NATIVE_UINT8, {3, 2}, bytes, {}, "cell");
    file.add("thin/data", H5T_STD_U8LE, H5T_NATIVE_UINT8, {3, 2}, bytes, {}, "uint8");
    mark("thin", "MATLAB_sparse");
    file.add("nil", H5T_STD_U64LE, H5T_NATIVE_UINT64, {2, 1}, sizes, {}, "double");
    mark("nil", "MATLAB_empty");
  }
  std::fstream(mat_, std::ios::in | std::ios::out | std::ios::binary) << "MATLAB 7.3 MAT-file, by a test";
  const auto reader = open_vectors(mat_);
  EXPECT_TRUE(reader->shape() == (Shape{3, 2, Element::u8}));
  EXPECT_EQ(values_of_bytes<std::uint8_t>(read_vectors(*reader)), (std::vector<std::uint8_t>{1, 1, 0, 0, 1, 0}));
  EXPECT_HAS(open_error(mat_ + ":cells"), "is of type cell");
  EXPECT_HAS(open_error(mat_ + ":thin"), "is of type sparse");
  EXPECT_HAS(open_error(mat_ + ":nil"), "is of type empty");
  EXPECT_HAS(open_error(mat_ + ":x"), "it has cells (cell), mask (2 x 3 u8), nil (empty), thin (sparse)");
}

TEST_F(Mat73, RefusesNamesThatMatlabCannotHold) {
  for (const char* name : {"1x", "a b", "a/b", "_x"}) {
    EXPECT_HAS(error_of([&] { kMat73.create({mat_, {3, 2, Element::f32}, name}); }), "cannot name a MATLAB variable");
  }
  EXPECT_EQ(directory_.files(), 0U);
}

}  // namespace
}  // namespace bdnn::format_testing
