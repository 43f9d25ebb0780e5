#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "data/hdf5_probe.h"
#include "data/hdf5_testing.h"
#include "peak_memory.h"
#include "sanitized.h"

namespace bdnn::format_testing {
namespace {

class Hdf5 : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::string path_ = directory_ / "a.hdf5";
};
TEST_F(Hdf5, RoundTrips) { expect_round_trips(kHdf5, path_); }

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

// Chunks larger than the library's own cache.
TEST_F(Hdf5, ReadsLargeChunks) {
  const auto values = ramp(4000 * 100);
  RawFile(path_).add("x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {4000, 100}, values.data(), {3000, 60});
  EXPECT_EQ(floats_in(path_, 7), values);
}

// More of them than are read at once, down the table and across it.
TEST_F(Hdf5, ReadsManySmallChunks) {
  for (const hsize_t rows : {2, 1500}) {
    const hsize_t columns = 60'000 / rows;
    const auto values = ramp(60'000);
    RawFile(path_).add("x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {rows, columns}, values.data(), {1, 5});
    for (const hsize_t piece : {rows, rows / 2 + 1}) EXPECT_EQ(floats_in(path_, piece), values);
  }
}

// The library takes some KB for each chunk of one read: 100 MB for this file of a few KB, if it were read at once.
TEST_F(Hdf5, ManyChunksTakeLittleMemory) {
  {
    const RawFile file(path_);
    const hsize_t dims[] = {2, 160'000}, chunk[] = {1, 16};
    const hid_t space = H5Screate_simple(2, dims, nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 2, chunk);
    H5Pset_deflate(creation, 6);
    const hid_t dataset = H5Dcreate2(file.get(), "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    const hsize_t first[] = {0, 0};  // a dataset without any chunk would be read by another path
    const float value = 1;
    const hid_t one = H5Screate(H5S_SCALAR);
    H5Sselect_elements(space, H5S_SELECT_SET, 1, first);
    ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, one, space, H5P_DEFAULT, &value), 0);
    H5Sclose(one);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
  }
  const std::size_t growth = testing::peak_growth([&] { EXPECT_EQ(load_vectors(path_).size(), 2U); });
  // AddressSanitizer keeps what was freed.
  EXPECT_LT(growth, testing::kUnderAddressSanitizer ? 256U << 20 : 60U << 20);
}

TEST_F(Hdf5, ReadsBooleansOfH5py) {
  const hid_t boolean = H5Tenum_create(H5T_NATIVE_INT8);
  const std::int8_t no = 0, yes = 1;
  H5Tenum_insert(boolean, "FALSE", &no);
  H5Tenum_insert(boolean, "TRUE", &yes);
  const std::vector<std::int8_t> values = {1, 0, 0, 1, 1, 1};
  RawFile(path_).add("x", boolean, boolean, {3, 2}, values.data());
  H5Tclose(boolean);
  const auto reader = open_vectors(path_);
  EXPECT_TRUE(reader->shape() == (Shape{2, 3, Element::i8}));
  EXPECT_EQ(values_of_bytes<std::int8_t>(read_vectors(*reader)), values);
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
  EXPECT_HAS(error, path_ + ": it is unclear which dataset holds the vectors");
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
  EXPECT_HAS(open_error(path_), path_ + ": is not an HDF5 file: it lacks the signature");
}

TEST_F(Hdf5, RefusesSizesThatOverflow) {
  {
    const RawFile file(path_);
    const hsize_t dims[] = {hsize_t{1} << 40, hsize_t{1} << 40}, chunk[] = {16, 16};
    const hid_t space = H5Screate_simple(2, dims, nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 2, chunk);
    const hid_t dataset = H5Dcreate2(file.get(), "train", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    ASSERT_GE(dataset, 0);
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
  }
  EXPECT_HAS(open_error(path_), "which no file can hold");
}

// A file of a few KB that says it holds 8 GB: refused before memory is taken for them.
TEST_F(Hdf5, RefusesSizesThatTheFileCannotHold) {
  for (const bool compressed : {false, true}) {
    for (const hsize_t in_a_chunk : {hsize_t{0}, hsize_t{16}, hsize_t{1} << 19}) {
      if (compressed && in_a_chunk == 0) continue;  // filters need chunks
      {
        const RawFile file(path_);
        const hsize_t dims[] = {hsize_t{1} << 21, 1024}, chunk[] = {in_a_chunk, 1024};
        const hid_t space = H5Screate_simple(2, dims, nullptr), creation = H5Pcreate(H5P_DATASET_CREATE);
        if (in_a_chunk > 0) H5Pset_chunk(creation, 2, chunk);
        if (compressed) H5Pset_deflate(creation, 6);
        const hid_t dataset =
            H5Dcreate2(file.get(), "train", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
        ASSERT_GE(dataset, 0);
        H5Dclose(dataset);
        H5Pclose(creation);
        H5Sclose(space);
      }
      const std::size_t growth = testing::peak_growth(
          [&] { EXPECT_HAS(error_of([&] { load_vectors(path_); }), "it claims 2097152 x 1024 elements, in a file"); });
      EXPECT_LT(growth, 64U << 20);
    }
  }
}

TEST_F(Hdf5, ACrashOfTheLibraryIsAnErrorWhereItReadsInAChildFirst) {
  const auto probe = [&](const std::function<void()>& read) { return error_of([&] { hdf5::probe("x.hdf5", read); }); };
  hdf5::read_in_a_child_first(true);
  EXPECT_HAS(probe([] { ::raise(SIGSEGV); }),
             "x.hdf5: is damaged: the HDF5 library crashes on it (Segmentation fault)");
  EXPECT_HAS(probe([] { ::raise(SIGXCPU); }), "did not finish reading");
  EXPECT_HAS(probe([] { ::_exit(1); }), "x.hdf5: is damaged: the HDF5 library exits on it (status 1)");
  EXPECT_EQ(probe([] { throw std::runtime_error("what the reader meets itself"); }), "");
  RawFile(path_).add_floats("train", {3, 2}, ramp(6));
  EXPECT_EQ(floats_in(path_), ramp(6));
  hdf5::read_in_a_child_first(false);
  int calls = 0;
  EXPECT_EQ(probe([&] { ++calls; }), "");
  EXPECT_EQ(calls, 0);
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

// Only the layout of a file may cost memory, however deep its groups are, never its vectors.
TEST_F(Hdf5, LaysOutHugeFilesInLittleMemory) {
  const Shape huge{4096, std::size_t{1} << 30, Element::f32};
  const std::size_t growth = testing::peak_growth([&] {
    kHdf5.create({path_, huge, "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z"});
    kMat73.create({path_, huge, ""});
  });
  EXPECT_LT(growth, 64U << 20);
  const Shape shape{1000, 300, Element::f64};
  const Bytes bytes = sample(shape);
  write_vectors(kHdf5, {path_, shape, "a/b/c/d/e/f/g/h"}, bytes, 100);
  EXPECT_EQ(read_vectors(*open_vectors(path_)), bytes);
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

}  // namespace
}  // namespace bdnn::format_testing
