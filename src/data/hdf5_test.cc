#include <gtest/gtest.h>
#include <hdf5.h>
#include <matio.h>
#include <sys/resource.h>

#include <csignal>
#include <numeric>

#include "data/format_testing.h"

namespace bdnn::testing {
namespace {

// A file made with the library alone, as other programs make it.
class RawFile {
 public:
  explicit RawFile(const std::string& path, hsize_t user_block = 0) {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, user_block);
    file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
    H5Pclose(creation);
  }
  ~RawFile() { H5Fclose(file_); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  void add(const char* name, hid_t file_type, hid_t memory_type, const std::vector<hsize_t>& dims, const void* data,
           const std::vector<hsize_t>& chunk = {}, const char* matlab_class = nullptr) {
    const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (!chunk.empty()) {
      H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
      H5Pset_shuffle(creation);
      H5Pset_deflate(creation, 6);
    }
    const hid_t link = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(link, 1);
    const hid_t dataset = H5Dcreate2(file_, name, file_type, space, link, creation, H5P_DEFAULT);
    ASSERT_GE(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), 0);
    if (matlab_class != nullptr) {
      const hid_t text = H5Tcopy(H5T_C_S1);
      H5Tset_size(text, std::strlen(matlab_class));
      const hid_t scalar = H5Screate(H5S_SCALAR);
      const hid_t attribute = H5Acreate2(dataset, "MATLAB_class", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
      H5Awrite(attribute, text, matlab_class);
      H5Aclose(attribute);
      H5Sclose(scalar);
      H5Tclose(text);
    }
    H5Dclose(dataset);
    H5Pclose(link);
    H5Pclose(creation);
    H5Sclose(space);
  }
  void add_floats(const char* name, const std::vector<hsize_t>& dims, const std::vector<float>& values) {
    add(name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, dims, values.data());
  }

  hid_t get() const { return file_; }

 private:
  hid_t file_ = -1;
};

std::vector<float> ramp(std::size_t n, float first = 0.5F) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::vector<float> floats_in(const std::string& path, std::size_t piece = SIZE_MAX) {
  const auto reader = open_vectors(path);
  EXPECT_EQ(reader->shape().element, Element::f32);
  return values_of_bytes<float>(read_vectors(*reader, piece));
}

class Hdf5 : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::string path_ = directory_ / "a.hdf5";
};
class Mat73 : public Hdf5 {
 protected:
  // As MATLAB names its files.
  std::string mat_ = directory_ / "a.mat";
};

TEST_F(Hdf5, RoundTrips) { expect_round_trips(kHdf5, path_); }

TEST_F(Mat73, RoundTrips) { expect_round_trips(kMat73, mat_); }

TEST_F(Hdf5, ReadsAnnBenchmarksChunkedCompressedBigEndian) {
  const auto train = ramp(300 * 20), test = ramp(10 * 20, -7), distances = ramp(10 * 5, 1000);
  std::vector<std::int32_t> neighbors(10 * 5);
  std::iota(neighbors.begin(), neighbors.end(), 0);
  {
    RawFile file(path_);
    file.add("train", H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, {300, 20}, train.data(), {32, 7});
    file.add("test", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {10, 20}, test.data(), {3, 20});
    file.add("neighbors", H5T_STD_I32BE, H5T_NATIVE_INT32, {10, 5}, neighbors.data());
    file.add("distances", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {10, 5}, distances.data());
  }
  for (const std::size_t piece : {1, 7, 300}) EXPECT_EQ(floats_in(path_, piece), train);
  EXPECT_EQ(floats_in(path_ + ":train"), train);
  EXPECT_EQ(floats_in(path_ + ":test"), test);
  EXPECT_EQ(floats_in(path_ + ":distances"), distances);
  const auto reader = open_vectors(path_ + ":neighbors");
  EXPECT_TRUE(reader->shape() == (Shape{5, 10, Element::i32}));
  EXPECT_EQ(values_of_bytes<std::int32_t>(read_vectors(*reader)), neighbors);
  const std::string error = open_error(path_ + ":base");
  EXPECT_HAS(error, path_ + ": has no readable dataset 'base'");
  EXPECT_HAS(error, "train (300 x 20 f32)");
  EXPECT_HAS(error, "neighbors (10 x 5 i32)");
}

TEST_F(Hdf5, ReadsEveryTypeOfEitherByteOrder) {
  const std::pair<hid_t, Element> types[] = {
      {H5T_IEEE_F64BE, Element::f64}, {H5T_STD_U8BE, Element::u8},   {H5T_STD_I8BE, Element::i8},
      {H5T_STD_U16BE, Element::u16},  {H5T_STD_I16BE, Element::i16}, {H5T_STD_U32BE, Element::u32},
      {H5T_STD_I32BE, Element::i32},  {H5T_STD_U64BE, Element::u64}, {H5T_STD_I64BE, Element::i64}};
  for (const auto& [type, element] : types) {
    SCOPED_TRACE(name_of(element));
    std::vector<std::int16_t> values(12);
    std::iota(values.begin(), values.end(), std::int16_t{100});
    RawFile(path_).add("x", type, H5T_NATIVE_INT16, {4, 3}, values.data());
    const auto reader = open_vectors(path_);
    ASSERT_TRUE(reader->shape() == (Shape{3, 4, element}));
    std::vector<float> floats(12);
    to_float(element, read_vectors(*reader).data(), 12, floats.data());
    EXPECT_EQ(floats, ramp(12, 100));
  }
}

TEST_F(Hdf5, ReadsBigEndianHalves) {
  const hid_t half = H5Tcopy(H5T_IEEE_F32BE);
  H5Tset_fields(half, 15, 10, 5, 0, 10);
  H5Tset_size(half, 2);
  H5Tset_ebias(half, 15);
  const std::vector<float> values = {1.5F, -2.25F, 65504.0F, 0x1p-24F, 0.0F, -1.0F};
  RawFile(path_).add("x", half, H5T_NATIVE_FLOAT, {3, 2}, values.data());
  H5Tclose(half);
  const auto reader = open_vectors(path_);
  ASSERT_TRUE(reader->shape() == (Shape{2, 3, Element::f16}));
  std::vector<float> floats(6);
  to_float(Element::f16, read_vectors(*reader).data(), 6, floats.data());
  EXPECT_EQ(floats, values);
}

TEST_F(Hdf5, ReadsOtherShapes) {
  {
    RawFile file(path_, 1024);  // and a user block in front
    file.add_floats("deep/down/images", {4, 2, 3}, ramp(24));
    file.add_floats("line", {5}, ramp(5));
  }
  auto reader = open_vectors(path_ + ":deep/down/images");
  EXPECT_TRUE(reader->shape() == (Shape{6, 4, Element::f32}));
  EXPECT_EQ(values_of_bytes<float>(read_vectors(*reader, 1)), ramp(24));
  reader = open_vectors(path_ + ":line");
  EXPECT_TRUE(reader->shape() == (Shape{1, 5, Element::f32}));
  EXPECT_EQ(values_of_bytes<float>(read_vectors(*reader, 2)), ramp(5));
}

TEST_F(Hdf5, ChoosesTheOnlyTable) {
  {
    RawFile file(path_);
    file.add_floats("group/base", {2, 3}, ramp(6));
    file.add_floats("norms", {2}, ramp(2));
  }
  EXPECT_EQ(floats_in(path_), ramp(6));
  {
    RawFile file(path_);
    file.add_floats("a", {2, 3}, ramp(6));
    file.add_floats("b/c", {3, 2}, ramp(6));
  }
  const std::string error = open_error(path_);
  EXPECT_HAS(error, path_ + ": does not tell which dataset holds the vectors");
  EXPECT_HAS(error, "a (2 x 3 f32), b/c (3 x 2 f32)");
}

TEST_F(Hdf5, RefusesWhatHoldsNoVectors) {
  {
    RawFile file(path_);
    const hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 4);
    file.add("text", text, text, {2}, "abcdefgh");
    H5Tclose(text);
    file.add_floats("number", {}, ramp(1));
  }
  EXPECT_HAS(open_error(path_ + ":text"), path_ + ":text: is text");
  EXPECT_HAS(open_error(path_ + ":number"), path_ + ":number: is a single number");
  EXPECT_HAS(open_error(path_), "number (f32), text (2 text)");
  { const RawFile empty(path_); }
  EXPECT_HAS(open_error(path_), "it has nothing");
  spill(path_, "not at all HDF5");
  EXPECT_HAS(open_error(path_), path_ + ": does not have HDF5's signature");
}

TEST_F(Hdf5, RefusesSizesThatOverflow) {
  {
    const RawFile file(path_);
    const hsize_t dims[] = {hsize_t{1} << 40, hsize_t{1} << 40}, chunk[] = {16, 16};
    const hid_t space = H5Screate_simple(2, dims, nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 2, chunk);
    const hid_t dataset =
        H5Dcreate2(file.get(), "train", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    ASSERT_GE(dataset, 0);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
  }
  EXPECT_HAS(open_error(path_), "which no file can hold");
}

TEST_F(Hdf5, RefusesGzipAndPipes) {
  const Bytes bytes = sample({3, 2, Element::f32});
  write_vectors(kHdf5, {path_, {3, 2, Element::f32}, ""}, bytes, 2);
  ASSERT_EQ(std::system(("gzip -k " + path_).c_str()), 0);
  EXPECT_HAS(open_error(path_ + ".gz"), "decompress it first");
  EXPECT_HAS(error_of([&] { kHdf5.create({directory_ / "b.h5.gz", {3, 2, Element::f32}, ""}); }), "leave out .gz");
  EXPECT_HAS(error_of([&] { kHdf5.create({"/dev/null", {3, 2, Element::f32}, ""}); }), "name a regular file");
}

TEST_F(Hdf5, WritesNamedDatasets) {
  const Bytes bytes = sample({3, 2, Element::f32});
  write_vectors(kHdf5, {path_, {3, 2, Element::f32}, "a/b"}, bytes, 1);
  EXPECT_EQ(read_vectors(*open_vectors(path_ + ":a/b")), bytes);
  EXPECT_HAS(error_of([&] { kHdf5.create({path_, {3, 2, Element::f32}, "."}); }), path_ + ": cannot write");
  EXPECT_EQ(read_vectors(*open_vectors(path_ + ":a/b")), bytes) << "a failed write touched the old file";
}

// Stands in for a full disk: writes beyond the limit fail. HDF5 would crash at exit if it were to notice.
TEST_F(Hdf5, ReportsAFullDiskAndLeavesNothing) {
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto limited = [&](rlim_t limit, const auto& action) {
    const rlimit small{limit, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const std::string error = error_of(action);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_HAS(error, path_ + ": cannot write: ");
  };
  const Shape shape{1000, 1000, Element::f32};
  const Bytes bytes = sample(shape);
  for (const rlim_t limit : {rlim_t{0}, rlim_t{700}, rlim_t{100'000}, rlim_t{4'000'000}}) {
    for (const Format* format : {&kHdf5, &kMat73, &kMat5}) {
      limited(limit, [&] { write_vectors(*format, {path_, shape, ""}, bytes, 100); });
      EXPECT_EQ(directory_.files(), 0U);
      auto writer = format->create({path_, shape, ""});
      limited(limit, [&] { writer->write(1000, bytes.data()); });
      writer.reset();
      EXPECT_EQ(directory_.files(), 0U);
    }
  }
  std::signal(SIGXFSZ, old_handler);
}

TEST_F(Hdf5, LeavesThePrintingOfErrorsAsItWas) {
  H5E_auto2_t before = nullptr, after = nullptr;
  void* data = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &data);
  RawFile(path_).add_floats("x", {1, 1}, ramp(1));
  ::testing::internal::CaptureStderr();
  open_error(path_ + ":none");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  H5Eget_auto2(H5E_DEFAULT, &after, &data);
  EXPECT_EQ(before, after);
}

TEST_F(Hdf5, NoticesTruncation) {
  const Shape shape{9, 41, Element::f32};
  const Bytes bytes = sample(shape);
  for (const Format* format : {&kHdf5, &kMat73}) {
    write_vectors(*format, {path_, shape, ""}, bytes, 41);
    expect_truncations_are_noticed(path_, directory_ / "cut.hdf5", bytes, 200);
  }
  const auto values = ramp(41 * 9);
  RawFile(path_).add("train", H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, {41, 9}, values.data(), {10, 4});
  expect_truncations_are_noticed(path_, directory_ / "cut.hdf5", bytes_of_values(values), 200);
}

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

TEST_F(Mat73, RefusesNamesThatMatlabCannotHold) {
  for (const char* name : {"1x", "a b", "a/b", "_x"}) {
    EXPECT_HAS(error_of([&] { kMat73.create({mat_, {3, 2, Element::f32}, name}); }), "cannot name a MATLAB variable");
  }
  EXPECT_EQ(directory_.files(), 0U);
}

}  // namespace
}  // namespace bdnn::testing
